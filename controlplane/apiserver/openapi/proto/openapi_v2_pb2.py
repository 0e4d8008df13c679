"""Generated from openapi_v2.proto by controlplane.apiserver.openapi.proto.generate; not edited by hand."""

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_POOL = DescriptorPool()
_POOL.AddSerializedFile(
    b'\n\x10openapi_v2.proto\x12!controlplane.api'
    b'server.openapi.v2"\x84\x01\n\x18AdditionalProp'
    b'ertiesItem\x12C\n\x06schema\x18\x01 \x01(\x0b2).control'
    b'plane.apiserver.openapi.v2.SchemaH\x00R'
    b'\x06schema\x12\x1a\n\x07boolean\x18\x02 \x01(\x08H\x00R\x07booleanB'
    b'\x07\n\x05value"\x19\n\x03Any\x12\x12\n\x04yaml\x18\x02 \x01(\tR\x04yaml"'
    b'j\n\x0eApiKeySecurity\x12\x12\n\x04type\x18\x01 \x01(\tR\x04typ'
    b'e\x12\x12\n\x04name\x18\x02 \x01(\tR\x04name\x12\x0e\n\x02in\x18\x03 \x01(\tR\x02i'
    b'n\x12 \n\x0bdescription\x18\x04 \x01(\tR\x0bdescription"'
    b'\x92\x01\n\rBodyParameter\x12\x12\n\x04name\x18\x02 \x01(\tR\x04nam'
    b'e\x12\x0e\n\x02in\x18\x03 \x01(\tR\x02in\x12\x1a\n\x08required\x18\x04 \x01(\x08R'
    b'\x08required\x12A\n\x06schema\x18\x05 \x01(\x0b2).controlp'
    b'lane.apiserver.openapi.v2.SchemaR\x06sc'
    b'hema"r\n\x0bDefinitions\x12c\n\x15additional_pr'
    b'operties\x18\x01 \x03(\x0b2..controlplane.apiser'
    b'ver.openapi.v2.NamedSchemaR\x14addition'
    b'alProperties"\x8b\x04\n\x08Document\x12\x18\n\x07swagger'
    b"\x18\x01 \x01(\tR\x07swagger\x12;\n\x04info\x18\x02 \x01(\x0b2'.cont"
    b'rolplane.apiserver.openapi.v2.InfoR\x04'
    b'info\x12>\n\x05paths\x18\x08 \x01(\x0b2(.controlplane.a'
    b'piserver.openapi.v2.PathsR\x05paths\x12P\n\x0b'
    b'definitions\x18\t \x01(\x0b2..controlplane.api'
    b'server.openapi.v2.DefinitionsR\x0bdefin'
    b'itions\x12W\n\nparameters\x18\n \x01(\x0b27.control'
    b'plane.apiserver.openapi.v2.Parameter'
    b'DefinitionsR\nparameters\x12R\n\x08security\x18'
    b'\x0c \x03(\x0b26.controlplane.apiserver.opena'
    b'pi.v2.SecurityRequirementR\x08security\x12'
    b'i\n\x14security_definitions\x18\r \x01(\x0b26.cont'
    b'rolplane.apiserver.openapi.v2.Securi'
    b'tyDefinitionsR\x13securityDefinitions"B'
    b'\n\x0cExternalDocs\x12 \n\x0bdescription\x18\x01 \x01(\tR'
    b'\x0bdescription\x12\x10\n\x03url\x18\x02 \x01(\tR\x03url"6\n\x04In'
    b'fo\x12\x14\n\x05title\x18\x01 \x01(\tR\x05title\x12\x18\n\x07version\x18'
    b'\x02 \x01(\tR\x07version"N\n\tItemsItem\x12A\n\x06schem'
    b'a\x18\x01 \x03(\x0b2).controlplane.apiserver.ope'
    b'napi.v2.SchemaR\x06schema""\n\rJsonRefere'
    b'nce\x12\x11\n\x04_ref\x18\x01 \x01(\tR\x03Ref"\\\n\x08NamedAny\x12\x12'
    b'\n\x04name\x18\x01 \x01(\tR\x04name\x12<\n\x05value\x18\x02 \x01(\x0b2&.'
    b'controlplane.apiserver.openapi.v2.An'
    b'yR\x05value"h\n\x0eNamedParameter\x12\x12\n\x04name\x18\x01'
    b' \x01(\tR\x04name\x12B\n\x05value\x18\x02 \x01(\x0b2,.controlp'
    b'lane.apiserver.openapi.v2.ParameterR'
    b'\x05value"f\n\rNamedPathItem\x12\x12\n\x04name\x18\x01 \x01('
    b'\tR\x04name\x12A\n\x05value\x18\x02 \x01(\x0b2+.controlplan'
    b'e.apiserver.openapi.v2.PathItemR\x05val'
    b'ue"p\n\x12NamedResponseValue\x12\x12\n\x04name\x18\x01 \x01'
    b'(\tR\x04name\x12F\n\x05value\x18\x02 \x01(\x0b20.controlpla'
    b'ne.apiserver.openapi.v2.ResponseValu'
    b'eR\x05value"b\n\x0bNamedSchema\x12\x12\n\x04name\x18\x01 \x01('
    b'\tR\x04name\x12?\n\x05value\x18\x02 \x01(\x0b2).controlplan'
    b'e.apiserver.openapi.v2.SchemaR\x05value'
    b'"\x84\x01\n\x1cNamedSecurityDefinitionsItem\x12\x12\n'
    b'\x04name\x18\x01 \x01(\tR\x04name\x12P\n\x05value\x18\x02 \x01(\x0b2:.c'
    b'ontrolplane.apiserver.openapi.v2.Sec'
    b'urityDefinitionsItemR\x05value"l\n\x10Named'
    b'StringArray\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12D\n\x05v'
    b'alue\x18\x02 \x01(\x0b2..controlplane.apiserver.'
    b'openapi.v2.StringArrayR\x05value"\x8e\x02\n\x10No'
    b'nBodyParameter\x12y\n\x1aquery_parameter_su'
    b'b_schema\x18\x03 \x01(\x0b2:.controlplane.apiser'
    b'ver.openapi.v2.QueryParameterSubSche'
    b'maH\x00R\x17queryParameterSubSchema\x12v\n\x19pat'
    b'h_parameter_sub_schema\x18\x04 \x01(\x0b29.contr'
    b'olplane.apiserver.openapi.v2.PathPar'
    b'ameterSubSchemaH\x00R\x16pathParameterSubS'
    b'chemaB\x07\n\x05value"\xad\x03\n\tOperation\x12\x12\n\x04tags'
    b'\x18\x01 \x03(\tR\x04tags\x12 \n\x0bdescription\x18\x03 \x01(\tR\x0bd'
    b'escription\x12!\n\x0coperation_id\x18\x05 \x01(\tR\x0bop'
    b'erationId\x12\x1a\n\x08produces\x18\x06 \x03(\tR\x08produce'
    b's\x12\x1a\n\x08consumes\x18\x07 \x03(\tR\x08consumes\x12Q\n\npar'
    b'ameters\x18\x08 \x03(\x0b21.controlplane.apiserv'
    b'er.openapi.v2.ParametersItemR\nparame'
    b'ters\x12J\n\tresponses\x18\t \x01(\x0b2,.controlpla'
    b'ne.apiserver.openapi.v2.ResponsesR\tr'
    b'esponses\x12\x18\n\x07schemes\x18\n \x03(\tR\x07schemes\x12V'
    b'\n\x10vendor_extension\x18\r \x03(\x0b2+.controlpl'
    b'ane.apiserver.openapi.v2.NamedAnyR\x0fv'
    b'endorExtension"\xd4\x01\n\tParameter\x12Y\n\x0ebody'
    b'_parameter\x18\x01 \x01(\x0b20.controlplane.apis'
    b'erver.openapi.v2.BodyParameterH\x00R\rbo'
    b'dyParameter\x12c\n\x12non_body_parameter\x18\x02 '
    b'\x01(\x0b23.controlplane.apiserver.openapi'
    b'.v2.NonBodyParameterH\x00R\x10nonBodyParam'
    b'eterB\x07\n\x05value"~\n\x14ParameterDefinition'
    b's\x12f\n\x15additional_properties\x18\x01 \x03(\x0b21.c'
    b'ontrolplane.apiserver.openapi.v2.Nam'
    b'edParameterR\x14additionalProperties"\xc2\x01'
    b'\n\x0eParametersItem\x12L\n\tparameter\x18\x01 \x01(\x0b2'
    b',.controlplane.apiserver.openapi.v2.'
    b'ParameterH\x00R\tparameter\x12Y\n\x0ejson_refer'
    b'ence\x18\x02 \x01(\x0b20.controlplane.apiserver.'
    b'openapi.v2.JsonReferenceH\x00R\rjsonRefe'
    b'renceB\x07\n\x05value"\xa9\x03\n\x08PathItem\x12>\n\x03get\x18\x02'
    b' \x01(\x0b2,.controlplane.apiserver.openap'
    b'i.v2.OperationR\x03get\x12>\n\x03put\x18\x03 \x01(\x0b2,.c'
    b'ontrolplane.apiserver.openapi.v2.Ope'
    b'rationR\x03put\x12@\n\x04post\x18\x04 \x01(\x0b2,.controlp'
    b'lane.apiserver.openapi.v2.OperationR'
    b'\x04post\x12D\n\x06delete\x18\x05 \x01(\x0b2,.controlplane'
    b'.apiserver.openapi.v2.OperationR\x06del'
    b'ete\x12B\n\x05patch\x18\x08 \x01(\x0b2,.controlplane.ap'
    b'iserver.openapi.v2.OperationR\x05patch\x12'
    b'Q\n\nparameters\x18\t \x03(\x0b21.controlplane.a'
    b'piserver.openapi.v2.ParametersItemR\n'
    b'parameters"\xb1\x01\n\x16PathParameterSubSchem'
    b'a\x12\x1a\n\x08required\x18\x01 \x01(\x08R\x08required\x12\x0e\n\x02in\x18'
    b'\x02 \x01(\tR\x02in\x12 \n\x0bdescription\x18\x03 \x01(\tR\x0bdesc'
    b'ription\x12\x12\n\x04name\x18\x04 \x01(\tR\x04name\x12\x12\n\x04type\x18'
    b'\x05 \x01(\tR\x04type\x12!\n\x0cunique_items\x18\x13 \x01(\x08R\x0bu'
    b'niqueItems"M\n\x05Paths\x12D\n\x04path\x18\x02 \x03(\x0b20.'
    b'controlplane.apiserver.openapi.v2.Na'
    b'medPathItemR\x04path"q\n\nProperties\x12c\n\x15a'
    b'dditional_properties\x18\x01 \x03(\x0b2..control'
    b'plane.apiserver.openapi.v2.NamedSche'
    b'maR\x14additionalProperties"\x96\x01\n\x17QueryPa'
    b'rameterSubSchema\x12\x0e\n\x02in\x18\x02 \x01(\tR\x02in\x12 \n\x0b'
    b'description\x18\x03 \x01(\tR\x0bdescription\x12\x12\n\x04na'
    b'me\x18\x04 \x01(\tR\x04name\x12\x12\n\x04type\x18\x06 \x01(\tR\x04type\x12!'
    b'\n\x0cunique_items\x18\x14 \x01(\x08R\x0buniqueItems"s\n'
    b'\x08Response\x12 \n\x0bdescription\x18\x01 \x01(\tR\x0bdesc'
    b'ription\x12E\n\x06schema\x18\x02 \x01(\x0b2-.controlpla'
    b'ne.apiserver.openapi.v2.SchemaItemR\x06'
    b'schema"\xbe\x01\n\rResponseValue\x12I\n\x08response'
    b'\x18\x01 \x01(\x0b2+.controlplane.apiserver.open'
    b'api.v2.ResponseH\x00R\x08response\x12Y\n\x0ejson_'
    b'reference\x18\x02 \x01(\x0b20.controlplane.apise'
    b'rver.openapi.v2.JsonReferenceH\x00R\rjso'
    b'nReferenceB\x07\n\x05value"g\n\tResponses\x12Z\n\r'
    b'response_code\x18\x01 \x03(\x0b25.controlplane.a'
    b'piserver.openapi.v2.NamedResponseVal'
    b'ueR\x0cresponseCode"\xcc\n\n\x06Schema\x12\x11\n\x04_ref\x18'
    b'\x01 \x01(\tR\x03Ref\x12\x16\n\x06format\x18\x02 \x01(\tR\x06format\x12\x14'
    b'\n\x05title\x18\x03 \x01(\tR\x05title\x12 \n\x0bdescription\x18'
    b'\x04 \x01(\tR\x0bdescription\x12@\n\x07default\x18\x05 \x01(\x0b2'
    b'&.controlplane.apiserver.openapi.v2.'
    b'AnyR\x07default\x12\x1f\n\x0bmultiple_of\x18\x06 \x01(\x01R\nm'
    b'ultipleOf\x12\x18\n\x07maximum\x18\x07 \x01(\x01R\x07maximum\x12'
    b'+\n\x11exclusive_maximum\x18\x08 \x01(\x08R\x10exclusiv'
    b'eMaximum\x12\x18\n\x07minimum\x18\t \x01(\x01R\x07minimum\x12+'
    b'\n\x11exclusive_minimum\x18\n \x01(\x08R\x10exclusive'
    b'Minimum\x12\x1d\n\nmax_length\x18\x0b \x01(\x03R\tmaxLeng'
    b'th\x12\x1d\n\nmin_length\x18\x0c \x01(\x03R\tminLength\x12\x18\n'
    b'\x07pattern\x18\r \x01(\tR\x07pattern\x12\x1b\n\tmax_items'
    b'\x18\x0e \x01(\x03R\x08maxItems\x12\x1b\n\tmin_items\x18\x0f \x01(\x03R'
    b'\x08minItems\x12!\n\x0cunique_items\x18\x10 \x01(\x08R\x0buni'
    b'queItems\x12%\n\x0emax_properties\x18\x11 \x01(\x03R\rma'
    b'xProperties\x12%\n\x0emin_properties\x18\x12 \x01(\x03R'
    b'\rminProperties\x12\x1a\n\x08required\x18\x13 \x03(\tR\x08re'
    b'quired\x12:\n\x04enum\x18\x14 \x03(\x0b2&.controlplane.'
    b'apiserver.openapi.v2.AnyR\x04enum\x12p\n\x15ad'
    b'ditional_properties\x18\x15 \x01(\x0b2;.controlp'
    b'lane.apiserver.openapi.v2.Additional'
    b'PropertiesItemR\x14additionalProperties'
    b'\x12?\n\x04type\x18\x16 \x01(\x0b2+.controlplane.apiser'
    b'ver.openapi.v2.TypeItemR\x04type\x12B\n\x05ite'
    b'ms\x18\x17 \x01(\x0b2,.controlplane.apiserver.op'
    b'enapi.v2.ItemsItemR\x05items\x12@\n\x06all_of\x18'
    b'\x18 \x03(\x0b2).controlplane.apiserver.opena'
    b'pi.v2.SchemaR\x05allOf\x12M\n\nproperties\x18\x19 '
    b'\x01(\x0b2-.controlplane.apiserver.openapi'
    b'.v2.PropertiesR\nproperties\x12\x1b\n\tread_o'
    b'nly\x18\x1b \x01(\x08R\x08readOnly\x12T\n\rexternal_docs'
    b'\x18\x1d \x01(\x0b2/.controlplane.apiserver.open'
    b'api.v2.ExternalDocsR\x0cexternalDocs\x12@\n'
    b'\x07example\x18\x1e \x01(\x0b2&.controlplane.apiser'
    b'ver.openapi.v2.AnyR\x07example\x12V\n\x10vendo'
    b'r_extension\x18\x1f \x03(\x0b2+.controlplane.api'
    b'server.openapi.v2.NamedAnyR\x0fvendorEx'
    b'tension"Z\n\nSchemaItem\x12C\n\x06schema\x18\x01 \x01('
    b'\x0b2).controlplane.apiserver.openapi.v'
    b'2.SchemaH\x00R\x06schemaB\x07\n\x05value"\x8b\x01\n\x13Secu'
    b'rityDefinitions\x12t\n\x15additional_proper'
    b'ties\x18\x01 \x03(\x0b2?.controlplane.apiserver.'
    b'openapi.v2.NamedSecurityDefinitionsI'
    b'temR\x14additionalProperties"\x81\x01\n\x17Securi'
    b'tyDefinitionsItem\x12]\n\x10api_key_securit'
    b'y\x18\x02 \x01(\x0b21.controlplane.apiserver.ope'
    b'napi.v2.ApiKeySecurityH\x00R\x0eapiKeySecu'
    b'rityB\x07\n\x05value"\x7f\n\x13SecurityRequirement'
    b'\x12h\n\x15additional_properties\x18\x01 \x03(\x0b23.co'
    b'ntrolplane.apiserver.openapi.v2.Name'
    b'dStringArrayR\x14additionalProperties"#'
    b'\n\x0bStringArray\x12\x14\n\x05value\x18\x01 \x03(\tR\x05value"'
    b' \n\x08TypeItem\x12\x14\n\x05value\x18\x01 \x03(\tR\x05valueb\x06p'
    b'roto3'
)
_find = _POOL.FindMessageTypeByName

AdditionalPropertiesItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.AdditionalPropertiesItem"))
Any = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Any"))
ApiKeySecurity = GetMessageClass(_find("controlplane.apiserver.openapi.v2.ApiKeySecurity"))
BodyParameter = GetMessageClass(_find("controlplane.apiserver.openapi.v2.BodyParameter"))
Definitions = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Definitions"))
Document = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Document"))
ExternalDocs = GetMessageClass(_find("controlplane.apiserver.openapi.v2.ExternalDocs"))
Info = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Info"))
ItemsItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.ItemsItem"))
JsonReference = GetMessageClass(_find("controlplane.apiserver.openapi.v2.JsonReference"))
NamedAny = GetMessageClass(_find("controlplane.apiserver.openapi.v2.NamedAny"))
NamedParameter = GetMessageClass(_find("controlplane.apiserver.openapi.v2.NamedParameter"))
NamedPathItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.NamedPathItem"))
NamedResponseValue = GetMessageClass(_find("controlplane.apiserver.openapi.v2.NamedResponseValue"))
NamedSchema = GetMessageClass(_find("controlplane.apiserver.openapi.v2.NamedSchema"))
NamedSecurityDefinitionsItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.NamedSecurityDefinitionsItem"))
NamedStringArray = GetMessageClass(_find("controlplane.apiserver.openapi.v2.NamedStringArray"))
NonBodyParameter = GetMessageClass(_find("controlplane.apiserver.openapi.v2.NonBodyParameter"))
Operation = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Operation"))
Parameter = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Parameter"))
ParameterDefinitions = GetMessageClass(_find("controlplane.apiserver.openapi.v2.ParameterDefinitions"))
ParametersItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.ParametersItem"))
PathItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.PathItem"))
PathParameterSubSchema = GetMessageClass(_find("controlplane.apiserver.openapi.v2.PathParameterSubSchema"))
Paths = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Paths"))
Properties = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Properties"))
QueryParameterSubSchema = GetMessageClass(_find("controlplane.apiserver.openapi.v2.QueryParameterSubSchema"))
Response = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Response"))
ResponseValue = GetMessageClass(_find("controlplane.apiserver.openapi.v2.ResponseValue"))
Responses = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Responses"))
Schema = GetMessageClass(_find("controlplane.apiserver.openapi.v2.Schema"))
SchemaItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.SchemaItem"))
SecurityDefinitions = GetMessageClass(_find("controlplane.apiserver.openapi.v2.SecurityDefinitions"))
SecurityDefinitionsItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.SecurityDefinitionsItem"))
SecurityRequirement = GetMessageClass(_find("controlplane.apiserver.openapi.v2.SecurityRequirement"))
StringArray = GetMessageClass(_find("controlplane.apiserver.openapi.v2.StringArray"))
TypeItem = GetMessageClass(_find("controlplane.apiserver.openapi.v2.TypeItem"))
