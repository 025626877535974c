"""Files by programs: pandoc, LibreOffice, TeX and Chromium. The variable CHROMIUM names its program, with its libraries in ./lib."""
import os
import shutil
import subprocess
import tempfile

from gold import FOLDER, anywhere, cell, cells, gold, path_of, rows

MADE = __file__
PANDOC = 'pandoc 2.17'
LIBRE = 'LibreOffice 7.4'
TEX = 'pdfTeX'
CHROMIUM = 'Chromium'
# Without it, the programs write today's date.
ENV = {**os.environ, 'SOURCE_DATE_EPOCH': '1767225600', 'FORCE_SOURCE_DATE': '1'}


def add(file, writer, **known):
    gold(file, writer=writer, made=MADE, **known)


def run(*command, **options):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**ENV, **options.pop('env', {})}, **options)


def pandoc(file, markdown, *arguments, **known):
    run('pandoc', '-f', 'markdown', '-o', path_of(file), *arguments, input=markdown.encode())
    add(file, PANDOC, **known)


def libre(file, source, suffix='html', infilter='HTML (StarWriter)', **known):
    """@param source a text that LibreOffice opens, or the path of a file of the set"""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, f'a.{suffix}')
        if os.path.exists(source):
            shutil.copy(source, name)
        else:
            with open(name, 'w', encoding='utf-8') as out:
                out.write(source)
        filters = [f'--infilter={infilter}'] if infilter else []
        target = file.rsplit('.', 1)[1]
        run('soffice', f'-env:UserInstallation=file://{folder}/profile', '--headless', *filters, '--convert-to', target, '--outdir', f'{folder}/out', name)
        shutil.copy(f'{folder}/out/a.{target}', path_of(file))
    add(file, LIBRE, **known)


def tex(file, body, packages='', **known):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'a.tex'), 'w', encoding='utf-8') as out:
            out.write('\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n' + packages + '\\pagestyle{empty}\n\\begin{document}\n' + body + '\n\\end{document}\n')
        run('pdflatex', '-interaction=batchmode', 'a.tex', cwd=folder)
        shutil.copy(os.path.join(folder, 'a.pdf'), path_of(file))
    add(file, TEX, **known)


def chromium(file, body, attributes='', **known):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'a.html'), 'w', encoding='utf-8') as out:
            out.write(f'<!doctype html><html{attributes}><meta charset="utf-8"><style>body {{ font-family: "DejaVu Sans", "Noto Sans", "Noto Sans CJK JP" }} td, th {{ border: 1px solid }}</style>{body}')
        run('node', '--import', './platform/load.mjs', str(FOLDER / 'make' / 'print.ts'), f'{folder}/a.html', path_of(file), cwd=FOLDER.parents[4])
    add(file, CHROMIUM, **known)


rates = [['Knot', 'Strength', 'Minutes'], ['Bowline', '', '60'], ['Reef knot', '45', ''], ['Clove hitch', '', '20']]
EQUATIONS = {'(a+b)/2': ['\\frac{a+b}{2}', '{a+b}/{2}', '(a+b)/(2)'], 'E=mc²': ['E=m c²', 'E=mc^{2}', 'E=m c^2']}

# --- pandoc
source = '''# Units

The pool holds 10^3^ litres on 25 m^2^ of water, H~2~O. We had 300[^1] guests.

The mean is $\\frac{a+b}{2}$ and energy is $E=mc^2$.

4. Check the hull
5. Check the sails

Between the two lists.

6. Cast off

| Knot | Strength | Minutes |
|------|----------|---------|
| Bowline | | 60 |
| Reef knot | 45 | |
| Clove hitch | | 20 |

[^1]: Counted at the gate.
'''
text = ['Units', 'The pool holds 10³ litres on 25 m² of water, H₂O. We had 300 [1] guests.', 'The mean is (a+b)/2 and energy is E=mc².', '4. Check the hull', '5. Check the sails', 'Between the two lists.', '6. Cast off',
        *rows(rates), anywhere('1'), anywhere('Counted at the gate.')]
known = {'covers': ['superscript', 'subscript', 'footnote mark beside a number', 'equation', 'numbered list, start', 'numbered list, continued', 'empty cells'], 'text': text, 'cells': cells(rates),
         'numbers': ['10³ litres', '25 m²', 'H₂O', '300 [1] guests', 'E=mc²', 'a+b)/2', '4. Check the hull', '6. Cast off'], 'absent': ['3001'],
         'same': {'300 [1]': ['300[1]', '300^1', '300^[1]', '300^[1'], **EQUATIONS}}
pandoc('docx-pandoc-units.docx', source, **known)
pandoc('html-pandoc-units.html', source, '-s', '--mathml', '--metadata', 'title=Units', **{**known, 'text': [*text, anywhere('Units')], 'absent': ['3001']})
pandoc('docx-pandoc-thai.docx', '# บทที่ 1\n\nเรียนแล่นเรือทุกวันเสาร์ เวลา 9 โมง\n', language='th', covers=['Thai'], text=['บทที่ 1', 'เรียนแล่นเรือทุกวันเสาร์ เวลา 9 โมง'], numbers=['9'])
pandoc('pptx-pandoc.pptx', '# Knots\n\n- A bowline holds 10^3^ N.\n- It unties.\n\n::: notes\nTell of the storm.\n:::\n\n# Rates\n\n| Knot | Strength | Minutes |\n|---|---|---|\n| Bowline | | 60 |\n| Reef knot | 45 | |\n| Clove hitch | | 20 |\n',
       covers=['superscript', 'empty cells', 'notes'], text=['Knots', 'A bowline holds 10³ N.', 'It unties.', anywhere('Tell of the storm.'), 'Rates', *rows(rates)], numbers=['10³ N'], cells=cells(rates))

# --- LibreOffice
html = ('<h1>Unidades</h1><p>A piscina tem 10<sup>3</sup> litros e 25 m<sup>2</sup>; a água é H<sub>2</sub>O.</p><ol start="3"><li>Verificar o casco<li>Içar as velas</ol>'
        '<table border="1"><tr><th>Nó</th><th>Força</th><th>Minutos</th></tr><tr><td>Lais de guia</td><td></td><td>60</td></tr><tr><td>Direito</td><td>45</td><td></td></tr></table>')
nos = [['Nó', 'Força', 'Minutos'], ['Lais de guia', '', '60'], ['Direito', '45', '']]
known = {'language': 'pt', 'covers': ['superscript', 'subscript', 'empty cells', 'numbered list, start'],
         'text': ['Unidades', 'A piscina tem 10³ litros e 25 m²; a água é H₂O.', '3. Verificar o casco', '4. Içar as velas', *rows(nos)], 'cells': cells(nos),
         'numbers': ['10³ litros', '25 m²', 'H₂O', '3. Verificar', '4. Içar']}
libre('docx-libreoffice-portuguese.docx', html, **known)
libre('pdf-libreoffice-portuguese.pdf', html, **known)
libre('docx-libreoffice-hindi.docx', '<p>नाव धीरे चलाएँ। क्‍षमा करें, रास्ता 10 बजे खुलेगा।</p>', language='hi', covers=['U+200D'], text=['नाव धीरे चलाएँ। क्‍षमा करें, रास्ता 10 बजे खुलेगा।'], numbers=['10 बजे'])
libre('pdf-libreoffice-footnotes.pdf', path_of('docx-footnotes.docx'), 'docx', None, covers=['footnote mark beside a number', 'superscript'],
      text=['The pool holds 300 [1] litres of 10³ each, for 40 members [2].', anywhere('1'), anywhere('Measured in 2024.'), anywhere('2'), anywhere('Without the guests.')],
      numbers=['holds 300 [1] litres', '10³'], absent=['3001', '402'], same={'300 [1]': ['300[1]', '300^1'], 'members [2]': ['members[2]', 'members^2']})
libre('pptx-libreoffice.pptx', path_of('pptx-table-empty-cells.pptx'), 'pptx', None, covers=['empty cells'], text=['Knots', *rows([['Knot', 'Strength', 'Minutes'], ['Bowline', '', '60'], ['Reef knot', '45', ''], ['Clove hitch', '', '']])],
      cells=[cell('Strength', 'Bowline', ''), cell('Minutes', 'Bowline', '60'), cell('Strength', 'Reef knot', '45')])
libre('docx-libreoffice-arabic.docx', '<p dir="rtl">يبدأ الدرس في الساعة ١٠:٣٠ صباحًا.</p><p dir="rtl">السعر ٢٥ يورو (Laser 7).</p>', language='ar', covers=['Arabic'], text=['يبدأ الدرس في الساعة ١٠:٣٠ صباحًا.', 'السعر ٢٥ يورو (Laser 7).'], numbers=['٢٥ يورو', 'Laser 7'])

# --- TeX
tex('pdf-tex-equations.pdf', 'The pool holds $10^3$ litres on 25\\,m$^2$; water is H$_2$O.\n\nEnergy is $E = mc^2$, and the mean is $(a+b)/2$.\n\nWe had 300\\footnote{Counted at the gate.} guests, an efficient offer with 5 flags.',
    covers=['equation', 'superscript', 'subscript', 'footnote mark beside a number', 'ligatures'],
    text=['The pool holds 10³ litres on 25 m²; water is H₂O.', 'Energy is E=mc², and the mean is (a+b)/2.', 'We had 300 [1] guests, an efficient offer with 5 flags.', anywhere('1'), anywhere('Counted at the gate.')],
    numbers=['10³ litres', '25 m²', 'H₂O', 'E=mc²', '300 [1] guests'], absent=['3001'], same={'300 [1]': ['300[1]', '300^1', '300^[1]'], 'E=mc²': ['E=m c²', 'E=m c^2'], '1 Counted': ['^1 Counted', '^1Counted', '1Counted']})
tex('pdf-tex-portuguese.pdf', '\\section*{Nós}\nO lais de guia é um nó de segurança que não corre, e a sua alça aguenta o peso de uma embarcação inteira. \\emph{Atenção}: a corda é de 12 mm, e o comprimento necessário é de três metros e meio.',
    '\\usepackage[T1]{fontenc}\n', language='pt', covers=['Portuguese', "hyphen at a line's end"],
    text=['Nós', 'O lais de guia é um nó de segurança que não corre, e a sua alça aguenta o peso de uma embarcação inteira. Atenção: a corda é de 12 mm, e o comprimento necessário é de três metros e meio.'], numbers=['12 mm'])

# --- Chromium
chromium('pdf-chromium-units.pdf', '<h1>Units</h1><p>A cube of 10 m has 10<sup>3</sup> m<sup>3</sup>, its floor 100 m<sup>2</sup>. Water is H<sub>2</sub>O.</p><p>We had 300<sup>[1]</sup> guests.</p><p>[1] Counted at the gate.</p>',
         covers=['superscript', 'subscript', 'footnote mark beside a number'], text=['Units', 'A cube of 10 m has 10³ m³, its floor 100 m². Water is H₂O.', 'We had 300 [1] guests.', '[1] Counted at the gate.'],
         numbers=['10³ m³', '100 m²', 'H₂O', '300 [1] guests'], absent=['3001'], same={'300 [1]': ['300[1]', '300^1', '300^[1]']})
chromium('pdf-chromium-table.pdf', '<table><tr><th>Knot<th>Strength<th>Minutes<tr><td>Bowline<td><td>60<tr><td>Reef knot<td>45<td><tr><td>Clove hitch<td><td>20</table>', covers=['empty cells'], text=rows(rates), cells=cells(rates))
chromium('pdf-chromium-alternative-text.pdf', '<p>The loop:</p><img alt="A bowline around a post" src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" width="90"><p>It holds.</p>',
         ' lang="en"', covers=['alternative text'], text=['The loop:', anywhere('[Picture: A bowline around a post]'), 'It holds.'])
chromium('pdf-chromium-hebrew.pdf', '<h1>שיעור ראשון</h1><p>הקורס מתחיל ב-12:30 ונמשך 90 דקות.</p><p>הספר Sailing 101 נמצא בספרייה.</p>', ' lang="he" dir="rtl"', language='he', covers=['Hebrew'],
         text=['שיעור ראשון', 'הקורס מתחיל ב-12:30 ונמשך 90 דקות.', 'הספר Sailing 101 נמצא בספרייה.'], numbers=['90', 'Sailing 101'])
chromium('pdf-chromium-arabic.pdf', '<p>يبدأ الدرس في الساعة ١٠:٣٠ صباحًا.</p><p>السعر ٢٥ يورو لكل طالب.</p>', ' lang="ar" dir="rtl"', language='ar', covers=['Arabic'],
         text=['يبدأ الدرس في الساعة ١٠:٣٠ صباحًا.', 'السعر ٢٥ يورو لكل طالب.'], numbers=['٢٥ يورو'])
chromium('pdf-chromium-persian.pdf', '<p>می‌خواهم قایق‌رانی را یاد بگیرم.</p>', ' lang="fa" dir="rtl"', language='fa', covers=['U+200C'], text=['می‌خواهم قایق‌رانی را یاد بگیرم.'])
chromium('pdf-chromium-hindi.pdf', '<p>नाव धीरे चलाएँ। रास्ता 10 बजे खुलेगा।</p>', ' lang="hi"', language='hi', covers=['Hindi'], text=['नाव धीरे चलाएँ। रास्ता 10 बजे खुलेगा।'], numbers=['10 बजे'])
chromium('pdf-chromium-thai.pdf', '<p>เรียนแล่นเรือทุกวันเสาร์</p><p>ราคา 500 บาท ต่อที่</p>', ' lang="th"', language='th', covers=['Thai'], text=['เรียนแล่นเรือทุกวันเสาร์', 'ราคา 500 บาท ต่อที่'], numbers=['500'])
chromium('pdf-chromium-chinese-lines.pdf', '<p style="width: 9em">潮水每天涨落两次，涨潮大约六个小时，退潮也是如此。</p>', ' lang="zh"', language='zh', covers=['CJK lines'], text=['潮水每天涨落两次，涨潮大约六个小时，退潮也是如此。'])
chromium('pdf-chromium-korean.pdf', '<p style="width: 15em; word-break: keep-all">수업은 매주 토요일 오전 10시에 시작합니다. 요금은 30,000원입니다.</p>', ' lang="ko"', language='ko', covers=['Korean'], text=['수업은 매주 토요일 오전 10시에 시작합니다. 요금은 30,000원입니다.'], numbers=['10시에', '30,000원입니다'])
chromium('pdf-chromium-ruby.pdf', '<p><ruby>東京<rt>とうきょう</rt></ruby>の港で会いましょう。</p>', ' lang="ja"', language='ja', covers=['ruby'], text=['東京の港で会いましょう。'], hidden=['とうきょう'])
