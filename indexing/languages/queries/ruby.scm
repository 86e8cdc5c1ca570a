; Definitions.
(class name: (constant) @name body: (_)? @body) @definition.class
(class name: (scope_resolution scope: (_) @receiver name: (constant) @name) body: (_)? @body) @definition.class
(module name: (constant) @name body: (_)? @body) @definition.module
(module name: (scope_resolution scope: (_) @receiver name: (constant) @name) body: (_)? @body) @definition.module
(method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @definition.function
(singleton_method name: (_) @name parameters: (_)? @parameters body: (_)? @body) @definition.function
(program (assignment left: (constant) @name) @definition.variable)
(body_statement (assignment left: (constant) @name) @definition.field)
(call
  method: (identifier) @_attr
  arguments: (argument_list (simple_symbol) @name @definition.field)
  (#any-of? @_attr "attr_accessor" "attr_reader" "attr_writer"))

; Containers without a node.
[(block) (do_block) (lambda)] @scope

; References. A mixin gives its members as a base does.
(superclass [(constant) (scope_resolution)] @base)
(call
  !receiver
  method: (identifier) @_mixin
  arguments: (argument_list [(constant) (scope_resolution)] @base)
  (#any-of? @_mixin "include" "extend" "prepend"))
(call !receiver method: [(identifier) (constant)] @call arguments: (_)? @arguments)
(call receiver: (_) @receiver method: [(identifier) (constant)] @call arguments: (_)? @arguments)
; A name alone may be a local or a call; a call, if nothing here binds it.
(body_statement (identifier) @call)
(argument_list [(constant) @value (scope_resolution scope: (_) @receiver name: (constant) @value)])
(rescue (exceptions [(constant) @value (scope_resolution scope: (_) @receiver name: (constant) @value)]))

; Imports.
(call
  !receiver
  method: (identifier) @_require
  arguments: (argument_list . (string (string_content) @import.module))
  (#any-of? @_require "require" "require_relative" "load" "autoload"))

; Light types.
(assignment
  left: (identifier) @bind.name right: [(call) (identifier) (constant) (instance_variable)] @bind.value)
(assignment
  left: [(instance_variable) (class_variable)] @bind.field
  right: [(call) (identifier) (constant)] @bind.value)
(operator_assignment left: (instance_variable) @bind.field right: (call) @bind.value)
(method body: (body_statement (call) @return.value .))
(method body: (body_statement (instance_variable) @return.value .))
(singleton_method body: (body_statement (call) @return.value .))

; Names without a known type that hide names of outer scopes.
(method_parameters (identifier) @local)
(method_parameters
  [
    (optional_parameter name: (identifier) @local)
    (keyword_parameter name: (identifier) @local)
    (splat_parameter name: (identifier) @local)
    (hash_splat_parameter name: (identifier) @local)
    (block_parameter name: (identifier) @local)
  ])
(block_parameters (identifier) @local)
(assignment left: (identifier) @local)
(left_assignment_list (identifier) @local)
(exception_variable (identifier) @local)

; Control flow.
[
  (if) (unless) (while) (until) (for) (rescue) (conditional)
  (if_modifier) (unless_modifier) (while_modifier) (until_modifier) (rescue_modifier)
] @flow.branch
(elsif) @flow.chain
(else) @flow.else
[(case) (case_match)] @flow.switch
[(when) (in_clause)] @flow.case
(binary operator: ["&&" "and"]) @flow.and
(binary operator: ["||" "or"]) @flow.or
