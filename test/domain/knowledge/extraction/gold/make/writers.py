"""What a person reads on the files of writers.ts."""
import subprocess

from gold import FOLDER, anywhere, cells, gold, rows

MADE = __file__
PROJECT = FOLDER.parents[4]
subprocess.run(['node', '--import', './platform/load.mjs', str(FOLDER / 'make' / 'writers.ts'), str(FOLDER / 'files')], check=True, cwd=PROJECT)

rates = [['Knot', 'Strength', 'Minutes'], ['Bowline', '', '60'], ['Reef knot', '45', '']]
gold('docx-writer-units.docx', writer='docx (npm)', made=MADE, covers=['superscript', 'subscript', 'footnote mark beside a number', 'empty cells'],
     text=['The pool holds 10³ litres of H₂O. We had 300 [1] guests.', *rows(rates), anywhere('1'), anywhere('Counted at the gate.')], numbers=['10³ litres', 'H₂O', '300 [1] guests'], absent=['3001'],
     same={'300 [1]': ['300[1]', '300^1', '300^[1]']}, cells=cells(rates))
gold('pptx-writer-units.pptx', writer='pptxgenjs (npm)', made=MADE, covers=['superscript', 'subscript', 'empty cells', 'notes', 'Arabic'],
     text=['The pool holds 10³ litres of H₂O.', *rows(rates), anywhere('Tell of the storm.'), 'يبدأ الدرس في الساعة ١٠:٣٠ صباحًا.'], numbers=['10³ litres', 'H₂O'], cells=cells(rates))
gold('pdf-writer-units.pdf', writer='pdfkit (npm)', made=MADE, covers=['superscript'], text=['The pool holds 10³ litres. The mast is 12 m high.'], numbers=['10³ litres', '12 m'])
