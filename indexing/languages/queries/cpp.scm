; C++ only.

; Definitions.
(namespace_definition name: (_) @name body: (_) @body) @definition.module
(class_specifier name: [(type_identifier) @name (template_type name: (_) @name)] body: (_) @body) @definition.class
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type
(function_definition
  declarator: (function_declarator
    declarator: [(field_identifier) (destructor_name) (operator_name)] @name parameters: (_) @parameters)
  body: (_)? @body) @definition.function
(function_definition
  declarator: (reference_declarator
    (function_declarator
      declarator: [(identifier) (field_identifier) (operator_name)] @name parameters: (_) @parameters))
  body: (_) @body) @definition.function
(function_definition
  declarator: (pointer_declarator
    declarator: (function_declarator declarator: (field_identifier) @name parameters: (_) @parameters))
  body: (_) @body) @definition.function
(function_definition
  declarator: [
    (function_declarator
      declarator: (qualified_identifier
        scope: [(namespace_identifier) @receiver (template_type name: (_) @receiver)]
        name: [(identifier) (destructor_name) (operator_name)] @name)
      parameters: (_) @parameters)
    (reference_declarator
      (function_declarator
        declarator: (qualified_identifier
          scope: [(namespace_identifier) @receiver (template_type name: (_) @receiver)]
          name: [(identifier) (operator_name)] @name)
        parameters: (_) @parameters))
    (pointer_declarator
      declarator: (function_declarator
        declarator: (qualified_identifier
          scope: [(namespace_identifier) @receiver (template_type name: (_) @receiver)]
          name: (identifier) @name)
        parameters: (_) @parameters))
    (function_declarator
      declarator: (qualified_identifier
        name: (qualified_identifier
          scope: [(namespace_identifier) @receiver (template_type name: (_) @receiver)]
          name: [(identifier) (destructor_name) (operator_name)] @name))
      parameters: (_) @parameters)
  ]
  body: (_)? @body) @definition.method
(field_declaration
  declarator: (function_declarator
    declarator: [(field_identifier) (operator_name)] @name parameters: (_) @parameters)) @definition.method
(field_declaration
  declarator: [
    (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name parameters: (_) @parameters))
    (reference_declarator (function_declarator declarator: (field_identifier) @name parameters: (_) @parameters))
  ]) @definition.method
(field_declaration_list
  (declaration
    declarator: (function_declarator
      declarator: [(identifier) (destructor_name)] @name parameters: (_) @parameters)) @definition.method)
(declaration_list
  (declaration
    declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)) @definition.function)

; Containers without a node.
(lambda_expression) @scope

; References.
(base_class_clause [(type_identifier) @base (qualified_identifier) @base (template_type name: (_) @base)])
(call_expression function: (template_function name: (identifier) @call) arguments: (_) @arguments)
(call_expression
  function: (qualified_identifier scope: (_) @receiver name: (identifier) @call) arguments: (_) @arguments)
(call_expression
  function: (qualified_identifier
    scope: (_) @receiver name: (template_function name: (identifier) @call)) arguments: (_) @arguments)
(call_expression
  function: (qualified_identifier
    name: (qualified_identifier scope: (_) @receiver name: (identifier) @call)) arguments: (_) @arguments)
(call_expression
  function: (field_expression argument: (_) @receiver field: (template_method name: (field_identifier) @call))
  arguments: (_) @arguments)
(new_expression type: (type_identifier) @call arguments: (_)? @arguments)
(new_expression type: (qualified_identifier scope: (_) @receiver name: (type_identifier) @call) arguments: (_)? @arguments)

; Light types.
(parameter_declaration type: (_) @bind.type declarator: (reference_declarator (identifier) @bind.name))
(optional_parameter_declaration type: (_) @bind.type declarator: (identifier) @bind.name)
(declaration
  type: (placeholder_type_specifier)
  declarator: (init_declarator
    declarator: [(identifier) @bind.name (reference_declarator (identifier) @bind.name)]
    value: [(call_expression) (new_expression) (identifier) (field_expression)] @bind.value))
(declaration type: [(qualified_identifier) (template_type)] @bind.type declarator: (identifier) @bind.name)
(declaration
  type: [(qualified_identifier) (template_type) (type_identifier)] @bind.type
  declarator: (init_declarator
    declarator: [
      (identifier) @bind.name
      (pointer_declarator declarator: (identifier) @bind.name)
      (reference_declarator (identifier) @bind.name)
    ]))
(for_range_loop
  type: [(type_identifier) (qualified_identifier)] @bind.type
  declarator: [(identifier) @bind.name (reference_declarator (identifier) @bind.name)])
(field_declaration
  type: (_) @bind.type declarator: (reference_declarator (field_identifier) @bind.field))
(function_definition type: [(qualified_identifier) (template_type)] @return.type)
(field_declaration
  type: [(type_identifier) (qualified_identifier) (template_type)] @return.type
  declarator: (function_declarator))

; Names without a known type that hide names of outer scopes.
(for_range_loop declarator: [(identifier) @local (reference_declarator (identifier) @local)])

; Control flow.
[(for_range_loop) (catch_clause)] @flow.branch
