from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AdditionalPropertiesItem(_message.Message):
    __slots__ = ("schema_or_reference", "boolean")
    SCHEMA_OR_REFERENCE_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    schema_or_reference: SchemaOrReference
    boolean: bool
    def __init__(self, schema_or_reference: _Optional[_Union[SchemaOrReference, _Mapping[str, object]]] = ..., boolean: _Optional[bool] = ...) -> None: ...

class Any(_message.Message):
    __slots__ = ("yaml",)
    YAML_FIELD_NUMBER: _ClassVar[int]
    yaml: str
    def __init__(self, yaml: _Optional[str] = ...) -> None: ...

class Components(_message.Message):
    __slots__ = ("schemas", "security_schemes")
    SCHEMAS_FIELD_NUMBER: _ClassVar[int]
    SECURITY_SCHEMES_FIELD_NUMBER: _ClassVar[int]
    schemas: SchemasOrReferences
    security_schemes: SecuritySchemesOrReferences
    def __init__(self, schemas: _Optional[_Union[SchemasOrReferences, _Mapping[str, object]]] = ..., security_schemes: _Optional[_Union[SecuritySchemesOrReferences, _Mapping[str, object]]] = ...) -> None: ...

class DefaultType(_message.Message):
    __slots__ = ("number", "boolean", "string")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    STRING_FIELD_NUMBER: _ClassVar[int]
    number: float
    boolean: bool
    string: str
    def __init__(self, number: _Optional[float] = ..., boolean: _Optional[bool] = ..., string: _Optional[str] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("openapi", "info", "paths", "components")
    OPENAPI_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    openapi: str
    info: Info
    paths: Paths
    components: Components
    def __init__(self, openapi: _Optional[str] = ..., info: _Optional[_Union[Info, _Mapping[str, object]]] = ..., paths: _Optional[_Union[Paths, _Mapping[str, object]]] = ..., components: _Optional[_Union[Components, _Mapping[str, object]]] = ...) -> None: ...

class ExternalDocs(_message.Message):
    __slots__ = ("description", "url")
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    description: str
    url: str
    def __init__(self, description: _Optional[str] = ..., url: _Optional[str] = ...) -> None: ...

class Info(_message.Message):
    __slots__ = ("title", "version")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    title: str
    version: str
    def __init__(self, title: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class ItemsItem(_message.Message):
    __slots__ = ("schema_or_reference",)
    SCHEMA_OR_REFERENCE_FIELD_NUMBER: _ClassVar[int]
    schema_or_reference: _containers.RepeatedCompositeFieldContainer[SchemaOrReference]
    def __init__(self, schema_or_reference: _Optional[_Iterable[_Union[SchemaOrReference, _Mapping[str, object]]]] = ...) -> None: ...

class MediaType(_message.Message):
    __slots__ = ("schema",)
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    schema: SchemaOrReference
    def __init__(self, schema: _Optional[_Union[SchemaOrReference, _Mapping[str, object]]] = ...) -> None: ...

class MediaTypes(_message.Message):
    __slots__ = ("additional_properties",)
    ADDITIONAL_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    additional_properties: _containers.RepeatedCompositeFieldContainer[NamedMediaType]
    def __init__(self, additional_properties: _Optional[_Iterable[_Union[NamedMediaType, _Mapping[str, object]]]] = ...) -> None: ...

class NamedAny(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: Any
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[Any, _Mapping[str, object]]] = ...) -> None: ...

class NamedMediaType(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: MediaType
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[MediaType, _Mapping[str, object]]] = ...) -> None: ...

class NamedPathItem(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: PathItem
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[PathItem, _Mapping[str, object]]] = ...) -> None: ...

class NamedResponseOrReference(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: ResponseOrReference
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[ResponseOrReference, _Mapping[str, object]]] = ...) -> None: ...

class NamedSchemaOrReference(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: SchemaOrReference
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[SchemaOrReference, _Mapping[str, object]]] = ...) -> None: ...

class NamedSecuritySchemeOrReference(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: SecuritySchemeOrReference
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[SecuritySchemeOrReference, _Mapping[str, object]]] = ...) -> None: ...

class Operation(_message.Message):
    __slots__ = ("tags", "description", "operation_id", "parameters", "request_body", "responses", "specification_extension")
    TAGS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_BODY_FIELD_NUMBER: _ClassVar[int]
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_EXTENSION_FIELD_NUMBER: _ClassVar[int]
    tags: _containers.RepeatedScalarFieldContainer[str]
    description: str
    operation_id: str
    parameters: _containers.RepeatedCompositeFieldContainer[ParameterOrReference]
    request_body: RequestBodyOrReference
    responses: Responses
    specification_extension: _containers.RepeatedCompositeFieldContainer[NamedAny]
    def __init__(self, tags: _Optional[_Iterable[str]] = ..., description: _Optional[str] = ..., operation_id: _Optional[str] = ..., parameters: _Optional[_Iterable[_Union[ParameterOrReference, _Mapping[str, object]]]] = ..., request_body: _Optional[_Union[RequestBodyOrReference, _Mapping[str, object]]] = ..., responses: _Optional[_Union[Responses, _Mapping[str, object]]] = ..., specification_extension: _Optional[_Iterable[_Union[NamedAny, _Mapping[str, object]]]] = ...) -> None: ...

class Parameter(_message.Message):
    __slots__ = ("name", "description", "required", "schema")
    NAME_FIELD_NUMBER: _ClassVar[int]
    IN_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    required: bool
    schema: SchemaOrReference
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., required: _Optional[bool] = ..., schema: _Optional[_Union[SchemaOrReference, _Mapping[str, object]]] = ..., **kwargs) -> None: ...

class ParameterOrReference(_message.Message):
    __slots__ = ("parameter",)
    PARAMETER_FIELD_NUMBER: _ClassVar[int]
    parameter: Parameter
    def __init__(self, parameter: _Optional[_Union[Parameter, _Mapping[str, object]]] = ...) -> None: ...

class PathItem(_message.Message):
    __slots__ = ("get", "put", "post", "delete", "patch", "parameters")
    GET_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    POST_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    get: Operation
    put: Operation
    post: Operation
    delete: Operation
    patch: Operation
    parameters: _containers.RepeatedCompositeFieldContainer[ParameterOrReference]
    def __init__(self, get: _Optional[_Union[Operation, _Mapping[str, object]]] = ..., put: _Optional[_Union[Operation, _Mapping[str, object]]] = ..., post: _Optional[_Union[Operation, _Mapping[str, object]]] = ..., delete: _Optional[_Union[Operation, _Mapping[str, object]]] = ..., patch: _Optional[_Union[Operation, _Mapping[str, object]]] = ..., parameters: _Optional[_Iterable[_Union[ParameterOrReference, _Mapping[str, object]]]] = ...) -> None: ...

class Paths(_message.Message):
    __slots__ = ("path",)
    PATH_FIELD_NUMBER: _ClassVar[int]
    path: _containers.RepeatedCompositeFieldContainer[NamedPathItem]
    def __init__(self, path: _Optional[_Iterable[_Union[NamedPathItem, _Mapping[str, object]]]] = ...) -> None: ...

class Properties(_message.Message):
    __slots__ = ("additional_properties",)
    ADDITIONAL_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    additional_properties: _containers.RepeatedCompositeFieldContainer[NamedSchemaOrReference]
    def __init__(self, additional_properties: _Optional[_Iterable[_Union[NamedSchemaOrReference, _Mapping[str, object]]]] = ...) -> None: ...

class Reference(_message.Message):
    __slots__ = ("_ref",)
    _REF_FIELD_NUMBER: _ClassVar[int]
    _ref: str
    def __init__(self, _ref: _Optional[str] = ...) -> None: ...

class RequestBody(_message.Message):
    __slots__ = ("content", "required")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    content: MediaTypes
    required: bool
    def __init__(self, content: _Optional[_Union[MediaTypes, _Mapping[str, object]]] = ..., required: _Optional[bool] = ...) -> None: ...

class RequestBodyOrReference(_message.Message):
    __slots__ = ("request_body",)
    REQUEST_BODY_FIELD_NUMBER: _ClassVar[int]
    request_body: RequestBody
    def __init__(self, request_body: _Optional[_Union[RequestBody, _Mapping[str, object]]] = ...) -> None: ...

class Response(_message.Message):
    __slots__ = ("description", "content")
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    description: str
    content: MediaTypes
    def __init__(self, description: _Optional[str] = ..., content: _Optional[_Union[MediaTypes, _Mapping[str, object]]] = ...) -> None: ...

class ResponseOrReference(_message.Message):
    __slots__ = ("response",)
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    response: Response
    def __init__(self, response: _Optional[_Union[Response, _Mapping[str, object]]] = ...) -> None: ...

class Responses(_message.Message):
    __slots__ = ("response_or_reference",)
    RESPONSE_OR_REFERENCE_FIELD_NUMBER: _ClassVar[int]
    response_or_reference: _containers.RepeatedCompositeFieldContainer[NamedResponseOrReference]
    def __init__(self, response_or_reference: _Optional[_Iterable[_Union[NamedResponseOrReference, _Mapping[str, object]]]] = ...) -> None: ...

class Schema(_message.Message):
    __slots__ = ("nullable", "read_only", "write_only", "external_docs", "example", "deprecated", "title", "multiple_of", "maximum", "exclusive_maximum", "minimum", "exclusive_minimum", "max_length", "min_length", "pattern", "max_items", "min_items", "unique_items", "max_properties", "min_properties", "required", "enum", "type", "all_of", "one_of", "any_of", "items", "properties", "additional_properties", "default", "description", "format", "specification_extension")
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    WRITE_ONLY_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_DOCS_FIELD_NUMBER: _ClassVar[int]
    EXAMPLE_FIELD_NUMBER: _ClassVar[int]
    DEPRECATED_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    MULTIPLE_OF_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    EXCLUSIVE_MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    EXCLUSIVE_MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MIN_LENGTH_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MIN_ITEMS_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_ITEMS_FIELD_NUMBER: _ClassVar[int]
    MAX_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    MIN_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    ENUM_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    ALL_OF_FIELD_NUMBER: _ClassVar[int]
    ONE_OF_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    NOT_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    ADDITIONAL_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    SPECIFICATION_EXTENSION_FIELD_NUMBER: _ClassVar[int]
    nullable: bool
    read_only: bool
    write_only: bool
    external_docs: ExternalDocs
    example: Any
    deprecated: bool
    title: str
    multiple_of: float
    maximum: float
    exclusive_maximum: bool
    minimum: float
    exclusive_minimum: bool
    max_length: int
    min_length: int
    pattern: str
    max_items: int
    min_items: int
    unique_items: bool
    max_properties: int
    min_properties: int
    required: _containers.RepeatedScalarFieldContainer[str]
    enum: _containers.RepeatedCompositeFieldContainer[Any]
    type: str
    all_of: _containers.RepeatedCompositeFieldContainer[SchemaOrReference]
    one_of: _containers.RepeatedCompositeFieldContainer[SchemaOrReference]
    any_of: _containers.RepeatedCompositeFieldContainer[SchemaOrReference]
    items: ItemsItem
    properties: Properties
    additional_properties: AdditionalPropertiesItem
    default: DefaultType
    description: str
    format: str
    specification_extension: _containers.RepeatedCompositeFieldContainer[NamedAny]
    def __init__(self, nullable: _Optional[bool] = ..., read_only: _Optional[bool] = ..., write_only: _Optional[bool] = ..., external_docs: _Optional[_Union[ExternalDocs, _Mapping[str, object]]] = ..., example: _Optional[_Union[Any, _Mapping[str, object]]] = ..., deprecated: _Optional[bool] = ..., title: _Optional[str] = ..., multiple_of: _Optional[float] = ..., maximum: _Optional[float] = ..., exclusive_maximum: _Optional[bool] = ..., minimum: _Optional[float] = ..., exclusive_minimum: _Optional[bool] = ..., max_length: _Optional[int] = ..., min_length: _Optional[int] = ..., pattern: _Optional[str] = ..., max_items: _Optional[int] = ..., min_items: _Optional[int] = ..., unique_items: _Optional[bool] = ..., max_properties: _Optional[int] = ..., min_properties: _Optional[int] = ..., required: _Optional[_Iterable[str]] = ..., enum: _Optional[_Iterable[_Union[Any, _Mapping[str, object]]]] = ..., type: _Optional[str] = ..., all_of: _Optional[_Iterable[_Union[SchemaOrReference, _Mapping[str, object]]]] = ..., one_of: _Optional[_Iterable[_Union[SchemaOrReference, _Mapping[str, object]]]] = ..., any_of: _Optional[_Iterable[_Union[SchemaOrReference, _Mapping[str, object]]]] = ..., items: _Optional[_Union[ItemsItem, _Mapping[str, object]]] = ..., properties: _Optional[_Union[Properties, _Mapping[str, object]]] = ..., additional_properties: _Optional[_Union[AdditionalPropertiesItem, _Mapping[str, object]]] = ..., default: _Optional[_Union[DefaultType, _Mapping[str, object]]] = ..., description: _Optional[str] = ..., format: _Optional[str] = ..., specification_extension: _Optional[_Iterable[_Union[NamedAny, _Mapping[str, object]]]] = ..., **kwargs) -> None: ...

class SchemaOrReference(_message.Message):
    __slots__ = ("schema", "reference")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    schema: Schema
    reference: Reference
    def __init__(self, schema: _Optional[_Union[Schema, _Mapping[str, object]]] = ..., reference: _Optional[_Union[Reference, _Mapping[str, object]]] = ...) -> None: ...

class SchemasOrReferences(_message.Message):
    __slots__ = ("additional_properties",)
    ADDITIONAL_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    additional_properties: _containers.RepeatedCompositeFieldContainer[NamedSchemaOrReference]
    def __init__(self, additional_properties: _Optional[_Iterable[_Union[NamedSchemaOrReference, _Mapping[str, object]]]] = ...) -> None: ...

class SecurityScheme(_message.Message):
    __slots__ = ("type", "description", "name")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    IN_FIELD_NUMBER: _ClassVar[int]
    type: str
    description: str
    name: str
    def __init__(self, type: _Optional[str] = ..., description: _Optional[str] = ..., name: _Optional[str] = ..., **kwargs) -> None: ...

class SecuritySchemeOrReference(_message.Message):
    __slots__ = ("security_scheme",)
    SECURITY_SCHEME_FIELD_NUMBER: _ClassVar[int]
    security_scheme: SecurityScheme
    def __init__(self, security_scheme: _Optional[_Union[SecurityScheme, _Mapping[str, object]]] = ...) -> None: ...

class SecuritySchemesOrReferences(_message.Message):
    __slots__ = ("additional_properties",)
    ADDITIONAL_PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    additional_properties: _containers.RepeatedCompositeFieldContainer[NamedSecuritySchemeOrReference]
    def __init__(self, additional_properties: _Optional[_Iterable[_Union[NamedSecuritySchemeOrReference, _Mapping[str, object]]]] = ...) -> None: ...
