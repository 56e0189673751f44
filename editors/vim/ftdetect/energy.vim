autocmd BufNewFile,BufRead *.energy setfiletype energy
