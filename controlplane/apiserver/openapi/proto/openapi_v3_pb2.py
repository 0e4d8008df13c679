"""Generated from openapi_v3.proto by controlplane.apiserver.openapi.proto.generate; not edited by hand."""

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_POOL = DescriptorPool()
_POOL.AddSerializedFile(
    b'\n\x10openapi_v3.proto\x12!controlplane.api'
    b'server.openapi.v3"\xa7\x01\n\x18AdditionalProp'
    b'ertiesItem\x12f\n\x13schema_or_reference\x18\x01 '
    b'\x01(\x0b24.controlplane.apiserver.openapi'
    b'.v3.SchemaOrReferenceH\x00R\x11schemaOrRef'
    b'erence\x12\x1a\n\x07boolean\x18\x02 \x01(\x08H\x00R\x07booleanB\x07'
    b'\n\x05value"\x19\n\x03Any\x12\x12\n\x04yaml\x18\x02 \x01(\tR\x04yaml"\xc9'
    b'\x01\n\nComponents\x12P\n\x07schemas\x18\x01 \x01(\x0b26.con'
    b'trolplane.apiserver.openapi.v3.Schem'
    b'asOrReferencesR\x07schemas\x12i\n\x10security_'
    b'schemes\x18\x07 \x01(\x0b2>.controlplane.apiserv'
    b'er.openapi.v3.SecuritySchemesOrRefer'
    b'encesR\x0fsecuritySchemes"f\n\x0bDefaultTyp'
    b'e\x12\x18\n\x06number\x18\x01 \x01(\x01H\x00R\x06number\x12\x1a\n\x07boole'
    b'an\x18\x02 \x01(\x08H\x00R\x07boolean\x12\x18\n\x06string\x18\x03 \x01(\tH'
    b'\x00R\x06stringB\x07\n\x05value"\xf0\x01\n\x08Document\x12\x18\n\x07o'
    b'penapi\x18\x01 \x01(\tR\x07openapi\x12;\n\x04info\x18\x02 \x01(\x0b2'
    b"'.controlplane.apiserver.openapi.v3."
    b'InfoR\x04info\x12>\n\x05paths\x18\x04 \x01(\x0b2(.controlp'
    b'lane.apiserver.openapi.v3.PathsR\x05pat'
    b'hs\x12M\n\ncomponents\x18\x05 \x01(\x0b2-.controlplan'
    b'e.apiserver.openapi.v3.ComponentsR\nc'
    b'omponents"B\n\x0cExternalDocs\x12 \n\x0bdescrip'
    b'tion\x18\x01 \x01(\tR\x0bdescription\x12\x10\n\x03url\x18\x02 \x01(\t'
    b'R\x03url"6\n\x04Info\x12\x14\n\x05title\x18\x01 \x01(\tR\x05title\x12'
    b'\x18\n\x07version\x18\x06 \x01(\tR\x07version"q\n\tItemsIt'
    b'em\x12d\n\x13schema_or_reference\x18\x01 \x03(\x0b24.co'
    b'ntrolplane.apiserver.openapi.v3.Sche'
    b'maOrReferenceR\x11schemaOrReference"Y\n\t'
    b'MediaType\x12L\n\x06schema\x18\x01 \x01(\x0b24.controlp'
    b'lane.apiserver.openapi.v3.SchemaOrRe'
    b'ferenceR\x06schema"t\n\nMediaTypes\x12f\n\x15add'
    b'itional_properties\x18\x01 \x03(\x0b21.controlpl'
    b'ane.apiserver.openapi.v3.NamedMediaT'
    b'ypeR\x14additionalProperties"\\\n\x08NamedAn'
    b'y\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12<\n\x05value\x18\x02 \x01(\x0b'
    b'2&.controlplane.apiserver.openapi.v3'
    b'.AnyR\x05value"h\n\x0eNamedMediaType\x12\x12\n\x04nam'
    b'e\x18\x01 \x01(\tR\x04name\x12B\n\x05value\x18\x02 \x01(\x0b2,.contr'
    b'olplane.apiserver.openapi.v3.MediaTy'
    b'peR\x05value"f\n\rNamedPathItem\x12\x12\n\x04name\x18\x01'
    b' \x01(\tR\x04name\x12A\n\x05value\x18\x02 \x01(\x0b2+.controlp'
    b'lane.apiserver.openapi.v3.PathItemR\x05'
    b'value"|\n\x18NamedResponseOrReference\x12\x12\n'
    b'\x04name\x18\x01 \x01(\tR\x04name\x12L\n\x05value\x18\x02 \x01(\x0b26.c'
    b'ontrolplane.apiserver.openapi.v3.Res'
    b'ponseOrReferenceR\x05value"x\n\x16NamedSche'
    b'maOrReference\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12J\n'
    b'\x05value\x18\x02 \x01(\x0b24.controlplane.apiserve'
    b'r.openapi.v3.SchemaOrReferenceR\x05valu'
    b'e"\x88\x01\n\x1eNamedSecuritySchemeOrReference'
    b'\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12R\n\x05value\x18\x02 \x01(\x0b2'
    b'<.controlplane.apiserver.openapi.v3.'
    b'SecuritySchemeOrReferenceR\x05value"\xcd\x03\n'
    b'\tOperation\x12\x12\n\x04tags\x18\x01 \x03(\tR\x04tags\x12 \n\x0bde'
    b'scription\x18\x03 \x01(\tR\x0bdescription\x12!\n\x0coper'
    b'ation_id\x18\x05 \x01(\tR\x0boperationId\x12W\n\nparam'
    b'eters\x18\x06 \x03(\x0b27.controlplane.apiserver'
    b'.openapi.v3.ParameterOrReferenceR\npa'
    b'rameters\x12\\\n\x0crequest_body\x18\x07 \x01(\x0b29.con'
    b'trolplane.apiserver.openapi.v3.Reque'
    b'stBodyOrReferenceR\x0brequestBody\x12J\n\tre'
    b'sponses\x18\x08 \x01(\x0b2,.controlplane.apiserv'
    b'er.openapi.v3.ResponsesR\tresponses\x12d'
    b'\n\x17specification_extension\x18\r \x03(\x0b2+.co'
    b'ntrolplane.apiserver.openapi.v3.Name'
    b'dAnyR\x16specificationExtension"\xbb\x01\n\tPar'
    b'ameter\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x0e\n\x02in\x18\x02 \x01'
    b'(\tR\x02in\x12 \n\x0bdescription\x18\x03 \x01(\tR\x0bdescrip'
    b'tion\x12\x1a\n\x08required\x18\x04 \x01(\x08R\x08required\x12L\n\x06'
    b'schema\x18\n \x01(\x0b24.controlplane.apiserve'
    b'r.openapi.v3.SchemaOrReferenceR\x06sche'
    b'ma"m\n\x14ParameterOrReference\x12L\n\tparame'
    b'ter\x18\x01 \x01(\x0b2,.controlplane.apiserver.o'
    b'penapi.v3.ParameterH\x00R\tparameterB\x07\n\x05'
    b'value"\xaf\x03\n\x08PathItem\x12>\n\x03get\x18\x04 \x01(\x0b2,.co'
    b'ntrolplane.apiserver.openapi.v3.Oper'
    b'ationR\x03get\x12>\n\x03put\x18\x05 \x01(\x0b2,.controlpla'
    b'ne.apiserver.openapi.v3.OperationR\x03p'
    b'ut\x12@\n\x04post\x18\x06 \x01(\x0b2,.controlplane.apis'
    b'erver.openapi.v3.OperationR\x04post\x12D\n\x06'
    b'delete\x18\x07 \x01(\x0b2,.controlplane.apiserve'
    b'r.openapi.v3.OperationR\x06delete\x12B\n\x05pa'
    b'tch\x18\n \x01(\x0b2,.controlplane.apiserver.o'
    b'penapi.v3.OperationR\x05patch\x12W\n\nparame'
    b'ters\x18\r \x03(\x0b27.controlplane.apiserver.'
    b'openapi.v3.ParameterOrReferenceR\npar'
    b'ameters"M\n\x05Paths\x12D\n\x04path\x18\x01 \x03(\x0b20.con'
    b'trolplane.apiserver.openapi.v3.Named'
    b'PathItemR\x04path"|\n\nProperties\x12n\n\x15addi'
    b'tional_properties\x18\x01 \x03(\x0b29.controlpla'
    b'ne.apiserver.openapi.v3.NamedSchemaO'
    b'rReferenceR\x14additionalProperties"\x1e\n\t'
    b'Reference\x12\x11\n\x04_ref\x18\x01 \x01(\tR\x03Ref"r\n\x0bRequ'
    b'estBody\x12G\n\x07content\x18\x02 \x01(\x0b2-.controlpl'
    b'ane.apiserver.openapi.v3.MediaTypesR'
    b'\x07content\x12\x1a\n\x08required\x18\x03 \x01(\x08R\x08required'
    b'"v\n\x16RequestBodyOrReference\x12S\n\x0creques'
    b't_body\x18\x01 \x01(\x0b2..controlplane.apiserve'
    b'r.openapi.v3.RequestBodyH\x00R\x0brequestB'
    b'odyB\x07\n\x05value"u\n\x08Response\x12 \n\x0bdescript'
    b'ion\x18\x01 \x01(\tR\x0bdescription\x12G\n\x07content\x18\x03 '
    b'\x01(\x0b2-.controlplane.apiserver.openapi'
    b'.v3.MediaTypesR\x07content"i\n\x13ResponseO'
    b'rReference\x12I\n\x08response\x18\x01 \x01(\x0b2+.contr'
    b'olplane.apiserver.openapi.v3.Respons'
    b'eH\x00R\x08responseB\x07\n\x05value"|\n\tResponses\x12'
    b'o\n\x15response_or_reference\x18\x02 \x03(\x0b2;.con'
    b'trolplane.apiserver.openapi.v3.Named'
    b'ResponseOrReferenceR\x13responseOrRefer'
    b'ence"\xdf\x0c\n\x06Schema\x12\x1a\n\x08nullable\x18\x01 \x01(\x08R\x08n'
    b'ullable\x12\x1b\n\tread_only\x18\x03 \x01(\x08R\x08readOnly'
    b'\x12\x1d\n\nwrite_only\x18\x04 \x01(\x08R\twriteOnly\x12T\n\re'
    b'xternal_docs\x18\x06 \x01(\x0b2/.controlplane.ap'
    b'iserver.openapi.v3.ExternalDocsR\x0cext'
    b'ernalDocs\x12@\n\x07example\x18\x07 \x01(\x0b2&.control'
    b'plane.apiserver.openapi.v3.AnyR\x07exam'
    b'ple\x12\x1e\n\ndeprecated\x18\x08 \x01(\x08R\ndeprecated\x12'
    b'\x14\n\x05title\x18\t \x01(\tR\x05title\x12\x1f\n\x0bmultiple_of'
    b'\x18\n \x01(\x01R\nmultipleOf\x12\x18\n\x07maximum\x18\x0b \x01(\x01R'
    b'\x07maximum\x12+\n\x11exclusive_maximum\x18\x0c \x01(\x08R'
    b'\x10exclusiveMaximum\x12\x18\n\x07minimum\x18\r \x01(\x01R\x07'
    b'minimum\x12+\n\x11exclusive_minimum\x18\x0e \x01(\x08R\x10'
    b'exclusiveMinimum\x12\x1d\n\nmax_length\x18\x0f \x01(\x03'
    b'R\tmaxLength\x12\x1d\n\nmin_length\x18\x10 \x01(\x03R\tmin'
    b'Length\x12\x18\n\x07pattern\x18\x11 \x01(\tR\x07pattern\x12\x1b\n\t'
    b'max_items\x18\x12 \x01(\x03R\x08maxItems\x12\x1b\n\tmin_ite'
    b'ms\x18\x13 \x01(\x03R\x08minItems\x12!\n\x0cunique_items\x18\x14'
    b' \x01(\x08R\x0buniqueItems\x12%\n\x0emax_properties\x18'
    b'\x15 \x01(\x03R\rmaxProperties\x12%\n\x0emin_properti'
    b'es\x18\x16 \x01(\x03R\rminProperties\x12\x1a\n\x08required\x18'
    b'\x17 \x03(\tR\x08required\x12:\n\x04enum\x18\x18 \x03(\x0b2&.cont'
    b'rolplane.apiserver.openapi.v3.AnyR\x04e'
    b'num\x12\x12\n\x04type\x18\x19 \x01(\tR\x04type\x12K\n\x06all_of\x18\x1a '
    b'\x03(\x0b24.controlplane.apiserver.openapi'
    b'.v3.SchemaOrReferenceR\x05allOf\x12K\n\x06one_'
    b'of\x18\x1b \x03(\x0b24.controlplane.apiserver.op'
    b'enapi.v3.SchemaOrReferenceR\x05oneOf\x12K\n'
    b'\x06any_of\x18\x1c \x03(\x0b24.controlplane.apiserv'
    b'er.openapi.v3.SchemaOrReferenceR\x05any'
    b'Of\x12;\n\x03not\x18\x1d \x01(\x0b2).controlplane.apise'
    b'rver.openapi.v3.SchemaR\x03not\x12B\n\x05items'
    b'\x18\x1e \x01(\x0b2,.controlplane.apiserver.open'
    b'api.v3.ItemsItemR\x05items\x12M\n\npropertie'
    b's\x18\x1f \x01(\x0b2-.controlplane.apiserver.ope'
    b'napi.v3.PropertiesR\nproperties\x12p\n\x15ad'
    b'ditional_properties\x18  \x01(\x0b2;.controlp'
    b'lane.apiserver.openapi.v3.Additional'
    b'PropertiesItemR\x14additionalProperties'
    b'\x12H\n\x07default\x18! \x01(\x0b2..controlplane.api'
    b'server.openapi.v3.DefaultTypeR\x07defau'
    b'lt\x12 \n\x0bdescription\x18" \x01(\tR\x0bdescription'
    b'\x12\x16\n\x06format\x18# \x01(\tR\x06format\x12d\n\x17specific'
    b'ation_extension\x18$ \x03(\x0b2+.controlplane'
    b'.apiserver.openapi.v3.NamedAnyR\x16spec'
    b'ificationExtension"\xaf\x01\n\x11SchemaOrRefer'
    b'ence\x12C\n\x06schema\x18\x01 \x01(\x0b2).controlplane.'
    b'apiserver.openapi.v3.SchemaH\x00R\x06schem'
    b'a\x12L\n\treference\x18\x02 \x01(\x0b2,.controlplane.'
    b'apiserver.openapi.v3.ReferenceH\x00R\tre'
    b'ferenceB\x07\n\x05value"\x85\x01\n\x13SchemasOrRefere'
    b'nces\x12n\n\x15additional_properties\x18\x01 \x03(\x0b2'
    b'9.controlplane.apiserver.openapi.v3.'
    b'NamedSchemaOrReferenceR\x14additionalPr'
    b'operties"j\n\x0eSecurityScheme\x12\x12\n\x04type\x18\x01'
    b' \x01(\tR\x04type\x12 \n\x0bdescription\x18\x02 \x01(\tR\x0bdes'
    b'cription\x12\x12\n\x04name\x18\x03 \x01(\tR\x04name\x12\x0e\n\x02in\x18\x04'
    b' \x01(\tR\x02in"\x82\x01\n\x19SecuritySchemeOrReferen'
    b'ce\x12\\\n\x0fsecurity_scheme\x18\x01 \x01(\x0b21.contro'
    b'lplane.apiserver.openapi.v3.Security'
    b'SchemeH\x00R\x0esecuritySchemeB\x07\n\x05value"\x95\x01'
    b'\n\x1bSecuritySchemesOrReferences\x12v\n\x15add'
    b'itional_properties\x18\x01 \x03(\x0b2A.controlpl'
    b'ane.apiserver.openapi.v3.NamedSecuri'
    b'tySchemeOrReferenceR\x14additionalPrope'
    b'rtiesb\x06proto3'
)
_find = _POOL.FindMessageTypeByName

AdditionalPropertiesItem = GetMessageClass(_find("controlplane.apiserver.openapi.v3.AdditionalPropertiesItem"))
Any = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Any"))
Components = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Components"))
DefaultType = GetMessageClass(_find("controlplane.apiserver.openapi.v3.DefaultType"))
Document = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Document"))
ExternalDocs = GetMessageClass(_find("controlplane.apiserver.openapi.v3.ExternalDocs"))
Info = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Info"))
ItemsItem = GetMessageClass(_find("controlplane.apiserver.openapi.v3.ItemsItem"))
MediaType = GetMessageClass(_find("controlplane.apiserver.openapi.v3.MediaType"))
MediaTypes = GetMessageClass(_find("controlplane.apiserver.openapi.v3.MediaTypes"))
NamedAny = GetMessageClass(_find("controlplane.apiserver.openapi.v3.NamedAny"))
NamedMediaType = GetMessageClass(_find("controlplane.apiserver.openapi.v3.NamedMediaType"))
NamedPathItem = GetMessageClass(_find("controlplane.apiserver.openapi.v3.NamedPathItem"))
NamedResponseOrReference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.NamedResponseOrReference"))
NamedSchemaOrReference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.NamedSchemaOrReference"))
NamedSecuritySchemeOrReference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.NamedSecuritySchemeOrReference"))
Operation = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Operation"))
Parameter = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Parameter"))
ParameterOrReference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.ParameterOrReference"))
PathItem = GetMessageClass(_find("controlplane.apiserver.openapi.v3.PathItem"))
Paths = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Paths"))
Properties = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Properties"))
Reference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Reference"))
RequestBody = GetMessageClass(_find("controlplane.apiserver.openapi.v3.RequestBody"))
RequestBodyOrReference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.RequestBodyOrReference"))
Response = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Response"))
ResponseOrReference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.ResponseOrReference"))
Responses = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Responses"))
Schema = GetMessageClass(_find("controlplane.apiserver.openapi.v3.Schema"))
SchemaOrReference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.SchemaOrReference"))
SchemasOrReferences = GetMessageClass(_find("controlplane.apiserver.openapi.v3.SchemasOrReferences"))
SecurityScheme = GetMessageClass(_find("controlplane.apiserver.openapi.v3.SecurityScheme"))
SecuritySchemeOrReference = GetMessageClass(_find("controlplane.apiserver.openapi.v3.SecuritySchemeOrReference"))
SecuritySchemesOrReferences = GetMessageClass(_find("controlplane.apiserver.openapi.v3.SecuritySchemesOrReferences"))
