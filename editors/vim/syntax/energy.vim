" Specs of energyc.
if exists("b:current_syntax")
  finish
endif

syntax keyword energyDeclaration clamp const data dim noise param state target
syntax keyword energyEquation nextgroup=energyTitle skipwhite clamped cost energy flow fn force let metric next readout start tie
syntax keyword energyStatement layer network repeat
syntax keyword energyInside in on
syntax keyword energyLogic and not or
syntax keyword energySet nonnegative norm orthogonal simplex sphere standardized symmetric zero_diagonal
syntax keyword energySpecial batch pi training
syntax match energyFunction /\<\%(abs\|clip\|correct\|cos\|cross_entropy\|detach\|erf\|exp\|frozen\|gelu\|gelu_tanh\|grad\|layernorm\|leaky_relu\|log\|logsigmoid\|logsumexp\|max\|mean\|median\|min\|relu\|rmsnorm\|sigmoid\|sign\|silu\|sin\|softmax\|softplus\|softsign\|sqrt\|standardize\|sum\|tanh\|variance\|where\)\ze'\?\s*[[(]/
syntax match energyLaw /\%(\~\s*\)\@<=\%(glorot\|kaiming\|normal\|ones\|uniform\|zeros\)\>/
syntax region energySettings matchgroup=energyBlock start=/\<\%(nudge\|relax\|train\)\s*\%(\h\w*\s\+in\s\+\h\w*\s*\)\?{/ end=/}/ contains=@energyPairs
syntax region energySettings matchgroup=energyBlock start=/\<preset\s\+\h\w*\s*{/ end=/}/ contains=@energyPairs
syntax match energyTitle /\h\w*/ contained
syntax match energyField /\.\@<=\h\w*/
syntax cluster energyPairs contains=energyKey,energyChoice,energyNumber,energyComment,energyOperator
syntax match energyChoice /\h\w*\%(-\h\w*\)*/ contained
syntax match energyKey /\h\w*\%(\.\h\w*\)*\ze\s*=/ contained
syntax match energyNumber /\%(\w\|\.\)\@<!\%(\d\+\%(\.\d\+\)\?\|\.\d\+\)\%([eE][-+]\?\d\+\)\?\%(\w\|\.\)\@!/
syntax match energyOperator /<=\|>=\|==\|!=\|[-+*\/^<>=~|']/
syntax match energyComment /#.*$/ contains=@Spell

highlight default link energyDeclaration Type
highlight default link energyEquation Statement
highlight default link energyStatement Statement
highlight default link energyBlock Statement
highlight default link energyInside Keyword
highlight default link energyLogic Operator
highlight default link energySet Type
highlight default link energySpecial Special
highlight default link energyFunction Function
highlight default link energyLaw Type
highlight default link energyTitle Identifier
highlight default link energyField Identifier
highlight default link energyKey Identifier
highlight default link energyChoice Constant
highlight default link energyNumber Number
highlight default link energyOperator Operator
highlight default link energyComment Comment

let b:current_syntax = "energy"
