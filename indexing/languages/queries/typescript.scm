; TypeScript only: declared types, and classes named by type identifiers.

; Definitions.
(class_declaration name: (type_identifier) @name body: (_) @body) @definition.class
(abstract_class_declaration name: (type_identifier) @name body: (_) @body) @definition.class
(interface_declaration name: (type_identifier) @name body: (_) @body) @definition.interface
(type_alias_declaration name: (type_identifier) @name value: (_) @body) @definition.type
(enum_declaration name: (identifier) @name body: (_) @body) @definition.enum
(internal_module name: (_) @name body: (_) @body) @definition.module
(module name: (identifier) @name body: (_) @body) @definition.module
(function_signature name: (identifier) @name parameters: (_) @parameters) @definition.function
(method_signature
  name: [(property_identifier) (private_property_identifier)] @name
  parameters: (_) @parameters) @definition.method
(abstract_method_signature
  name: [(property_identifier) (private_property_identifier)] @name
  parameters: (_) @parameters) @definition.method
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name) @definition.field
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name
  value: [
    (arrow_function parameters: (_)? @parameters body: (_) @body)
    (function_expression parameters: (_) @parameters body: (_) @body)
  ]) @definition.method
(interface_body (property_signature name: (property_identifier) @name) @definition.field)

; References.
(extends_clause value: (_) @base)
(extends_type_clause (_) @base)
(implements_clause (_) @implements)
(type_alias_declaration value: (_) @type)

; Imports.
(import_statement
  (import_require_clause (identifier) @import.namespace source: (string (string_fragment) @import.from)))

; Light types.
(required_parameter pattern: (identifier) @bind.name type: (type_annotation (_) @bind.type))
(optional_parameter pattern: (identifier) @bind.name type: (type_annotation (_) @bind.type))
(required_parameter
  (accessibility_modifier) pattern: (identifier) @bind.field type: (type_annotation (_) @bind.type))
(required_parameter
  "readonly" pattern: (identifier) @bind.field type: (type_annotation (_) @bind.type))
(variable_declarator name: (identifier) @bind.name type: (type_annotation (_) @bind.type))
(variable_declarator
  name: (identifier) @bind.name
  !type
  value: (as_expression (_) (_) @bind.type))
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @bind.field
  type: (type_annotation (_) @bind.type))
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @bind.field
  !type
  value: (new_expression constructor: (_) @bind.call))
(property_signature name: (property_identifier) @bind.field type: (type_annotation (_) @bind.type))
(type_parameter
  name: (type_identifier) @bind.name constraint: (constraint (type_identifier) @bind.type))
(type_parameter
  name: (type_identifier) @bind.name !constraint value: (default_type (_) @bind.type))
(required_parameter
  pattern: (object_pattern) @bind.pattern type: (type_annotation (_) @bind.type))
(type_alias_declaration
  value: [
    (array_type) (function_type) (generic_type) (intersection_type) (nested_type_identifier)
    (parenthesized_type) (readonly_type) (type_identifier) (type_query) (union_type)
  ] @return.type)
(type_alias_declaration value: (object_type (call_signature) @return.type))
(interface_body (call_signature) @return.type)
(function_declaration return_type: (type_annotation (_) @return.type))
(function_signature return_type: (type_annotation (_) @return.type))
(method_definition return_type: (type_annotation (_) @return.type))
(method_signature return_type: (type_annotation (_) @return.type))
(abstract_method_signature return_type: (type_annotation (_) @return.type))
(arrow_function return_type: (type_annotation (_) @return.type))

; Names without a known type that hide names of outer scopes.
(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
