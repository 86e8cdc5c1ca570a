(package_clause name: (package_identifier) @package)

; Definitions.
(class_definition name: (_) @name class_parameters: (_)* @parameters body: (_)? @body) @definition.class
(object_definition name: (_) @name body: (_)? @body) @definition.class
(trait_definition name: (_) @name body: (_)? @body) @definition.interface
(enum_definition name: (_) @name body: (_) @body) @definition.enum
[(simple_enum_case name: (_) @name) (full_enum_case name: (_) @name)] @definition.field
(function_definition name: (_) @name parameters: (_)* @parameters body: (_) @body) @definition.function
(function_declaration name: (_) @name parameters: (_)* @parameters) @definition.function
(type_definition name: (_) @name) @definition.type
(template_body
  [(val_definition pattern: (identifier) @name) (var_definition pattern: (identifier) @name)
   (val_declaration name: (identifier) @name)] @definition.field)
(compilation_unit
  [(val_definition pattern: (identifier) @name) (var_definition pattern: (identifier) @name)
  ] @definition.variable)
(class_parameter name: (identifier) @name) @definition.field

; Containers without a node.
[(lambda_expression) (case_clause)] @scope

; References.
(extends_clause type: [(type_identifier) (generic_type) (stable_type_identifier)] @base)
(call_expression function: (identifier) @call arguments: (_) @arguments)
(call_expression function: (field_expression value: (_) @receiver field: (identifier) @call)
  arguments: (_) @arguments)
(call_expression function: (generic_function function: (identifier) @call) arguments: (_) @arguments)
(call_expression
  function: (generic_function
    function: (field_expression value: (_) @receiver field: (identifier) @call))
  arguments: (_) @arguments)
(infix_expression left: (_) @receiver operator: (identifier) @call)
(instance_expression [(type_identifier) @call (generic_type type: (type_identifier) @call)])
(annotation name: (type_identifier) @decorator arguments: (_)? @arguments)
(arguments (identifier) @value)

; Imports.
(import_declaration) @import.tree

; Light types.
(parameter name: (identifier) @bind.name type: (_) @bind.type)
(class_parameter name: (identifier) @bind.field type: (_) @bind.type)
(class_parameter name: (identifier) @bind.name type: (_) @bind.type)
(template_body (val_definition pattern: (identifier) @bind.field type: (_) @bind.type))
(template_body
  (val_definition
    pattern: (identifier) @bind.field !type
    value: [(call_expression) (instance_expression)] @bind.value))
(val_definition pattern: (identifier) @bind.name type: (_) @bind.type)
(val_definition
  pattern: (identifier) @bind.name !type
  value: [(call_expression) (instance_expression) (field_expression) (identifier)] @bind.value)
(var_definition pattern: (identifier) @bind.name type: (_) @bind.type)
(function_definition return_type: (_) @return.type)
(function_declaration return_type: (_) @return.type)

; Names without a known type that hide names of outer scopes.
(val_definition pattern: (identifier) @local)
(var_definition pattern: (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(bindings (binding name: (identifier) @local))
(enumerator . (identifier) @local)

; Control flow.
[(if_expression) (for_expression) (while_expression) (catch_clause)] @flow.branch
(if_expression alternative: (if_expression) @flow.chain)
(if_expression alternative: (block) @flow.else)
(match_expression) @flow.switch
(case_clause) @flow.case
(infix_expression operator: (operator_identifier) @_and (#eq? @_and "&&")) @flow.and
(infix_expression operator: (operator_identifier) @_or (#eq? @_or "||")) @flow.or
