;;; energy-mode.el --- Specs of energyc -*- lexical-binding: t; -*-

;; Version: 0.3.0
;; Package-Requires: ((emacs "26.1"))
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Colours for specs, and their language server under Eglot: M-x eglot, or
;;     (add-hook 'energy-mode-hook #'eglot-ensure)

;;; Code:

(defconst energy-declarations '("clamp" "const" "data" "dim" "noise" "param" "state" "target"))
(defconst energy-equations '("clamped" "cost" "energy" "flow" "fn" "force" "let" "metric" "next" "readout" "start" "tie"))
(defconst energy-statements '("layer" "network" "nudge" "preset" "relax" "repeat" "train"))
(defconst energy-inside '("and" "in" "not" "on" "or"))
(defconst energy-functions '("abs" "clip" "correct" "cos" "cross_entropy" "detach" "erf" "exp" "frozen" "gelu" "gelu_tanh" "grad" "layernorm" "leaky_relu" "log" "logsigmoid" "logsumexp" "max" "mean" "median" "min" "relu" "rmsnorm" "sigmoid" "sign" "silu" "sin" "softmax" "softplus" "softsign" "sqrt" "standardize" "sum" "tanh" "variance" "where"))
(defconst energy-laws-and-sets '("glorot" "kaiming" "nonnegative" "norm" "normal" "ones" "orthogonal" "simplex" "sphere" "standardized" "symmetric" "uniform" "zero_diagonal" "zeros"))

(defconst energy--name "[A-Za-z_][A-Za-z_0-9]*")

(defvar energy-font-lock-keywords
  `((,(concat (regexp-opt energy-equations 'words) "\\(?:\\s-+\\(" energy--name "\\)\\)?")
     (1 font-lock-keyword-face)
     (2 font-lock-function-name-face nil t))
    (,(regexp-opt energy-declarations 'words) . font-lock-type-face)
    (,(regexp-opt energy-statements 'words) . font-lock-keyword-face)
    (,(regexp-opt energy-inside 'words) . font-lock-keyword-face)
    (,(concat (regexp-opt energy-functions 'words) "'?\\s-*[[(]") 1 font-lock-builtin-face)
    (,(regexp-opt energy-laws-and-sets 'words) . font-lock-constant-face)
    (,(concat "\\(" energy--name "\\(?:\\." energy--name "\\)*\\)\\s-*=[^=]") 1 font-lock-variable-name-face))
  "What `energy-mode' colours, besides comments.")

(defvar energy-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?_ "w" table)
    (dolist (sign '(?+ ?- ?* ?/ ?^ ?< ?> ?= ?~ ?| ?' ?.))
      (modify-syntax-entry sign "." table))
    table)
  "Comments begin with #; an underscore is part of a name.")

;;;###autoload
(define-derived-mode energy-mode prog-mode "Energy"
  "Major mode for specs of energyc."
  (setq-local comment-start "# ")
  (setq-local comment-start-skip "#+\\s-*")
  (setq-local indent-line-function #'indent-relative)
  (setq-local font-lock-defaults '(energy-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.energy\\'" . energy-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(energy-mode . ("energyc" "lsp"))))

(provide 'energy-mode)

;;; energy-mode.el ends here
