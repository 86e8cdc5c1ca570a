; Definitions. A decorated definition is matched twice; the wider span, with its decorators, wins.
(class_definition name: (identifier) @name body: (block) @body) @definition.class
(decorated_definition
  definition: (class_definition name: (identifier) @name body: (block) @body)) @definition.class
(function_definition
  name: (identifier) @name parameters: (_) @parameters body: (block) @body) @definition.function
(decorated_definition
  definition: (function_definition
    name: (identifier) @name parameters: (_) @parameters body: (block) @body)) @definition.function
(type_alias_statement left: (type (identifier) @name)) @definition.type
(module (expression_statement (assignment left: (identifier) @name)) @definition.variable)
(class_definition
  body: (block (expression_statement (assignment left: (identifier) @name)) @definition.field))
(class_definition name: (identifier) @name body: (block . (expression_statement (string) @doc)))
(function_definition name: (identifier) @name body: (block . (expression_statement (string) @doc)))

; Containers without a node: their names are local to them.
[
  (lambda)
  (list_comprehension)
  (set_comprehension)
  (dictionary_comprehension)
  (generator_expression)
] @scope

; References.
(class_definition
  superclasses: (argument_list
    [(identifier) @base (attribute) @base (subscript value: (_) @base)]))
(decorator (identifier) @decorator)
(decorator (attribute object: (_) @receiver attribute: (identifier) @decorator))
(decorator (call function: (identifier) @decorator arguments: (_) @arguments))
(decorator
  (call
    function: (attribute object: (_) @receiver attribute: (identifier) @decorator)
    arguments: (_) @arguments))
(call function: (identifier) @call arguments: (_) @arguments)
(call
  function: (attribute object: (_) @receiver attribute: (identifier) @call) arguments: (_) @arguments)
(argument_list (identifier) @value)
(argument_list (attribute object: (_) @receiver attribute: (identifier) @value))
(keyword_argument value: (identifier) @value)
(keyword_argument value: (attribute object: (_) @receiver attribute: (identifier) @value))
(pair value: (identifier) @value)
(pair value: (attribute object: (_) @receiver attribute: (identifier) @value))
(list (identifier) @value)
(tuple (identifier) @value)
(return_statement (identifier) @value)
(raise_statement (identifier) @value)
(except_clause value: (identifier) @value)
(except_clause value: (as_pattern (identifier) @value))
(assignment right: (identifier) @value)
(assignment right: (attribute object: (_) @receiver attribute: (identifier) @value))

; Imports.
(import_statement
  name: [
    (dotted_name) @import.module
    (aliased_import name: (dotted_name) @import.module alias: (identifier) @import.alias)
  ])
(import_from_statement
  module_name: (_) @import.from
  name: [
    (dotted_name) @import.name
    (aliased_import name: (dotted_name) @import.name alias: (identifier) @import.alias)
  ])
(import_from_statement module_name: (_) @import.from (wildcard_import) @import.star)

; Light types: what a name, an attribute or a call may hold.
(assignment left: (identifier) @bind.name type: (type (_) @bind.type))
(assignment left: (identifier) @bind.name !type right: (call function: (_) @bind.call))
(assignment
  left: (identifier) @bind.name !type right: (await (call function: (_) @bind.call)))
(assignment left: (identifier) @bind.name !type right: [(identifier) (attribute)] @bind.value)
(assignment
  left: (attribute object: (identifier) @bind.object attribute: (identifier) @bind.attribute)
  type: (type (_) @bind.type))
(assignment
  left: (attribute object: (identifier) @bind.object attribute: (identifier) @bind.attribute)
  !type
  right: (call function: (_) @bind.call))
(assignment
  left: (attribute object: (identifier) @bind.object attribute: (identifier) @bind.attribute)
  !type
  right: [(identifier) (attribute)] @bind.value)
(assignment
  left: (attribute object: (identifier) @bind.object attribute: (identifier) @bind.attribute)
  !type
  right: (boolean_operator right: (call function: (_) @bind.call)))
(named_expression name: (identifier) @bind.name value: (call function: (_) @bind.call))
(typed_parameter . (identifier) @bind.name type: (type (_) @bind.type))
(typed_default_parameter name: (identifier) @bind.name type: (type (_) @bind.type))
(with_item
  value: (as_pattern
    (call function: (_) @bind.call) alias: (as_pattern_target (identifier) @bind.name)))
(function_definition return_type: (type (_) @return.type))
(return_statement (call function: (_) @return.call))
(return_statement [(identifier) (attribute)] @return.value)
; What a fixture or a context manager yields is what its user gets.
(yield (call function: (_) @return.call))
(yield [(identifier) (attribute)] @return.value)

; Names without a known type that hide names of outer scopes.
(parameters
  [
    (identifier) @local
    (default_parameter name: (identifier) @local)
    (list_splat_pattern (identifier) @local)
    (dictionary_splat_pattern (identifier) @local)
  ])
(lambda_parameters
  [(identifier) @local (default_parameter name: (identifier) @local)])
(typed_parameter
  [(list_splat_pattern (identifier) @local) (dictionary_splat_pattern (identifier) @local)])
(assignment left: (identifier) @local)
(assignment left: [(pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(for_statement left: (identifier) @local)
(for_statement left: [(pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(for_in_clause left: (identifier) @local)
(for_in_clause left: [(pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(as_pattern_target (identifier) @local)

; Control flow.
[
  (if_statement)
  (for_statement)
  (while_statement)
  (except_clause)
  (conditional_expression)
] @flow.branch
(elif_clause) @flow.chain
(else_clause) @flow.else
(match_statement) @flow.switch
(case_clause) @flow.case
[(for_in_clause) (if_clause)] @flow.path
(boolean_operator operator: "and") @flow.and
(boolean_operator operator: "or") @flow.or
