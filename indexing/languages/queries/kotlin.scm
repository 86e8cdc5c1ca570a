(package_header (qualified_identifier) @package)

; Definitions.
(class_declaration
  name: (identifier) @name
  (primary_constructor (class_parameters) @parameters)?
  [(class_body) (enum_class_body)]? @body) @definition.class
(class_declaration "interface" name: (identifier) @name (class_body)? @body) @definition.interface
(class_declaration
  (modifiers (class_modifier "enum")) name: (identifier) @name (enum_class_body)? @body) @definition.enum
(object_declaration name: (identifier) @name (class_body)? @body) @definition.class
(companion_object name: (identifier) @name (class_body)? @body) @definition.class
(type_alias type: (identifier) @name) @definition.type
(function_declaration
  name: (identifier) @name (function_value_parameters) @parameters (function_body)? @body
  ) @definition.function
(function_declaration
  [(user_type . (identifier) @receiver) (nullable_type (user_type . (identifier) @receiver))]
  . name: (identifier) @name (function_value_parameters) @parameters (function_body)? @body
  ) @definition.method
(secondary_constructor "constructor" @name (function_value_parameters) @parameters) @definition.method
(class_body
  (property_declaration (variable_declaration . (identifier) @name)) @definition.field)
(source_file
  (property_declaration (variable_declaration . (identifier) @name)) @definition.variable)
(class_parameter ["val" "var"] (identifier) @name) @definition.field
(enum_entry . (identifier) @name) @definition.field

; Containers without a node. A companion's members belong to its class.
[(lambda_literal) (anonymous_function) (object_literal)] @scope

; References. The grammar does not tell a base class from an interface; their definitions do.
(delegation_specifier (constructor_invocation (user_type) @base))
(delegation_specifier (user_type) @base)
(delegation_specifier (explicit_delegation (user_type) @base))
(call_expression . (identifier) @call (value_arguments)? @arguments)
(call_expression
  . (navigation_expression (_) @receiver (identifier) @call .) (value_arguments)? @arguments)
(infix_expression . (_) @receiver . (identifier) @call)
(annotation (user_type . (identifier) @decorator))
(annotation (constructor_invocation (user_type . (identifier) @decorator) (value_arguments) @arguments))
(value_argument (identifier) @value .)
(callable_reference (identifier) @value .)
(as_expression (user_type) @type)

; Imports.
(import) @import.tree

; Light types.
(parameter (identifier) @bind.name [(user_type) (nullable_type)] @bind.type)
(class_parameter (identifier) @bind.field [(user_type) (nullable_type)] @bind.type)
(class_parameter (identifier) @bind.name [(user_type) (nullable_type)] @bind.type)
(class_body
  (property_declaration
    (variable_declaration (identifier) @bind.field [(user_type) (nullable_type)] @bind.type)))
(class_body
  (property_declaration (variable_declaration (identifier) @bind.field .) (call_expression) @bind.value))
(property_declaration
  (variable_declaration (identifier) @bind.name [(user_type) (nullable_type)] @bind.type))
(property_declaration
  (variable_declaration (identifier) @bind.name .)
  [(call_expression) (navigation_expression) (identifier) (this_expression)] @bind.value)
(function_declaration
  (function_value_parameters) . [(user_type) (nullable_type)] @return.type)
(function_declaration
  (function_value_parameters) . (function_body . (call_expression) @return.value))

; Names without a known type that hide names of outer scopes.
(variable_declaration . (identifier) @local)

; Control flow.
[
  (if_expression) (for_statement) (while_statement) (do_while_statement) (catch_block)
] @flow.branch
(if_expression (if_expression) @flow.chain .)
(if_expression "else" (block) @flow.else)
(when_expression) @flow.switch
(when_entry) @flow.case
(binary_expression operator: "&&") @flow.and
(binary_expression operator: ["||" "?:"]) @flow.or
