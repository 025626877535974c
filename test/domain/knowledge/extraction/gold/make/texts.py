"""HTML, Markdown, lessons, plain text and CSV, written as they are."""
import csv
import io

from gold import anywhere, cell, cells, gold, rows, write

MADE = __file__
WRITER = 'written by hand'


def add(file, content, *, encoding='utf-8', writer=WRITER, **known):
    write(file, content, encoding)
    gold(file, writer=writer, made=MADE, **known)


def page(body, head='<meta charset="utf-8">', attributes=''):
    return f'<!doctype html>\n<html{attributes}>\n<head>{head}<title>Club</title></head>\n<body>\n{body}\n</body>\n</html>\n'


# --- HTML
add('html-raised-and-lowered.html', page(
    '<h1>Units</h1>\n<p>A cube of 10 m has 10<sup>3</sup> m<sup>3</sup>, its floor 100 m<sup>2</sup>.</p>\n<p>Water is H<sub>2</sub>O; the gas is CO<sub>2</sub>.</p>\n'
    '<p>A million is 10<sup>6</sup>, a millionth 10<sup>&minus;6</sup>. It was the 1<sup>st</sup> of May.</p>\n'
    '<p>We had 300<sup><a href="#n1">[1]</a></sup> guests.</p>\n<p id="n1">[1] Counted at the gate.</p>'),
    covers=['superscript', 'subscript', 'footnote mark beside a number'],
    text=['Units', 'A cube of 10 m has 10³ m³, its floor 100 m².', 'Water is H₂O; the gas is CO₂.', 'A million is 10⁶, a millionth 10⁻⁶. It was the 1st of May.',
          'We had 300 [1] guests.', '[1] Counted at the gate.'],
    numbers=['10³ m³', '100 m²', 'H₂O', 'CO₂', '10⁶', '10⁻⁶', '300 [1] guests'], absent=['3001'], same={'1st': ['1^st'], '300 [1]': ['300[1]', '300^[1]', '300^[1', '300^1']})
rates = [['Knot', 'Strength', 'Minutes'], ['Bowline', '', '60'], ['Reef knot', '45', ''], ['Clove hitch', '', '']]
add('html-table-empty-cells.html', page(
    '<table>\n<tr><th>Knot</th><th>Strength</th><th>Minutes</th></tr>\n<tr><td>Bowline</td><td></td><td>60</td></tr>\n'
    '<tr><td>Reef knot</td><td>45</td><td>&nbsp;</td></tr>\n<tr><td>Clove hitch</td><td></td><td></td></tr>\n</table>'),
    covers=['empty cells'], text=rows(rates), cells=cells(rates))
add('html-table-merged-cells.html', page(
    '<table><thead><tr><th>Day</th><th>Morning</th><th>Noon</th><th>Evening</th></tr></thead><tbody>'
    '<tr><td rowspan="2">Monday</td><td>Swim</td><td colspan="2">Sail</td></tr><tr><td>Run</td><td>Rest</td><td>Sing</td></tr>'
    '<tr><td>Friday</td><td rowspan="2">Row</td><td>Eat</td><td>Dance</td></tr><tr><td>Sunday</td><td>Read</td><td>Sleep</td></tr></tbody></table>'),
    covers=['rowspan', 'colspan'],
    text=['Day | Morning | Noon | Evening', 'Monday | Swim | Sail', 'Run | Rest | Sing', 'Friday | Row | Eat | Dance', 'Sunday | Read | Sleep'],
    cells=[cell('Morning', 'Monday', 'Swim'), cell('Noon', 'Monday', 'Sail'), cell('Morning', 'Run', 'Run'), cell('Noon', 'Run', 'Rest'), cell('Evening', 'Run', 'Sing'),
           cell('Noon', 'Friday', 'Eat'), cell('Evening', 'Friday', 'Dance'), cell('Noon', 'Sunday', 'Read'), cell('Evening', 'Sunday', 'Sleep')],
    repeatable=['Monday', 'Row', 'Sail'])
stock = [['Article', 'Place', 'Pieces', 'Price']] + [[f'Shackle of size {n}', f'Shelf {n % 7 + 1}', str(n * 3), f'{n}.50'] for n in range(1, 41)]
add('html-long-table.html', page('<h1>Stock</h1><table>' + ''.join('<tr>' + ''.join(f'<td>{one}</td>' for one in row) + '</tr>' for row in stock) + '</table>'),
    covers=['table longer than a passage'], text=['Stock', *rows(stock)],
    cells=cells(stock, (1, 2), (9, 3), (17, 1), (25, 2), (33, 3), (40, 2)))
add('html-mathml.html', page(
    '<p>The mean is <math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>, and energy is '
    '<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>.</p>\n<p>The root is <math><msqrt><mn>16</mn></msqrt><mo>=</mo><mn>4</mn></math>.</p>\n'
    '<p>It starts at <math><semantics><mrow><msub><mi>v</mi><mn>0</mn></msub><mo>=</mo><mn>3</mn></mrow><annotation encoding="application/x-tex">v_0=3</annotation></semantics></math>.</p>'),
    covers=['MathML'], text=['The mean is (a+b)/2, and energy is E=mc².', 'The root is √16=4.', 'It starts at v₀=3.'], numbers=['a+b)/2', 'E=mc²', '√16=4', 'v₀=3'],
    same={'(a+b)/2': ['\\frac{a+b}{2}', '{a+b}/{2}', '(a+b)/(2)'], '√16=4': ['√(16)=4', '\\sqrt{16}=4'], 'E=mc²': ['E=m c²', 'E=mc^{2}']})
add('html-hidden.html', page(
    '<p>Lessons begin at 9.</p>\n<p style="display:none">Draft: lessons begin at 8.</p>\n<p hidden>Internal note.</p>\n<p style="visibility: hidden">Old price.</p>\n'
    '<p>They end at noon.</p>\n<!-- A comment. -->\n<script>var price = 3</script><template>Template words</template>'),
    covers=['display:none', 'hidden'], text=['Lessons begin at 9.', 'They end at noon.'], hidden=['Draft: lessons begin at 8.', 'Internal note.', 'Old price.'],
    absent=['A comment', 'var price', 'Template words'])
add('html-numbered-lists.html', page(
    '<ol start="4"><li>Four<li value="9">Nine<li>Ten</ol>\n<ol reversed><li>Three<li>Two<li>One</ol>\n<ol type="a"><li>First<li>Second</ol>\n<ol start="0"><li>Zero<li>Next</ol>\n'
    '<ol><li>Outer<ul><li>Inner</ul><li>Last</ol>'),
    covers=['numbered list, start', 'numbered list, value', 'reversed list'],
    text=['4. Four', '9. Nine', '10. Ten', '3. Three', '2. Two', '1. One', 'a. First', 'b. Second', '0. Zero', '1. Next', '1. Outer', 'Inner', '2. Last'],
    numbers=['9. Nine', '10. Ten', '3. Three', '1. One', '0. Zero', '2. Last'])
add('html-ruby-japanese.html', page('<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>の港で会いましょう。</p>\n<p>午前\n十時に始まります。</p>', attributes=' lang="ja"'),
    language='ja', covers=['ruby', 'CJK lines'], text=['東京の港で会いましょう。', '午前十時に始まります。'], hidden=['とうきょう'])
add('html-hebrew-direction.html', page(
    '<h1>שיעור ראשון</h1>\n<p>הקורס מתחיל ב-<bdo dir="ltr">12:30</bdo> ונמשך 90 דקות.</p>\n<p>הספר <bdi>Sailing 101</bdi> נמצא בספרייה.</p>\n<p dir="ltr">Ask for room B7.</p>\n'
    '<p>הסיסמה היא <bdo dir="rtl">abc</bdo>.</p>', attributes=' lang="he" dir="rtl"'),
    language='he', covers=['bdo', 'dir'], text=['שיעור ראשון', 'הקורס מתחיל ב-12:30 ונמשך 90 דקות.', 'הספר Sailing 101 נמצא בספרייה.', 'Ask for room B7.', 'הסיסמה היא cba.'],
    numbers=['90', 'Sailing 101'], same={'cba': ['abc']})
add('html-alternative-texts.html', page(
    '<p>The knot:</p>\n<img src="bowline.png" alt="A bowline around a post">\n<p>Its use:</p>\n<figure><img src="a.png" alt=""><figcaption>Figure 1. A boat at the pier</figcaption></figure>\n'
    '<svg role="img" aria-label="Chart of tides"><title>Tides</title><text x="1" y="9">High at 6</text></svg><input type="image" alt="Send" src="s.png">'),
    covers=['alternative text'], text=['The knot:', anywhere('[Picture: A bowline around a post]'), 'Its use:', 'Figure 1. A boat at the pier', anywhere('[Picture: Send]'), anywhere('High at 6')], hidden=['Chart of tides', 'Tides', 'Image'])
add('html-utf-16-with-mark.html', '\ufeff' + page('<p>Uma lição de vela: 20 €.</p>', head=''), encoding='utf-16-le', language='pt', covers=['UTF-16 with mark'],
    text=['Uma lição de vela: 20 €.'], numbers=['20 €'])
add('html-shift-jis.html', page('<p>船は午後三時に出ます。</p>', head='<meta charset="shift_jis">'), encoding='shift_jis', language='ja', covers=['declared encoding'],
    text=['船は午後三時に出ます。'])
add('html-form-and-details.html', page(
    '<form><label>Your boat <input value="Laser"></label><textarea>Bring a towel.</textarea><select><option>Morning<option selected>Evening</select><button>Book</button></form>\n'
    '<details><summary>What to bring</summary><p>A hat.</p></details>\n<dl><dt>Bow<dd>The front.<dt>Stern<dd>The back.</dl>\n<p>Write to &lt;crew&gt;@&lt;club&gt; or use List&lt;String&gt;.</p>'),
    covers=['form', '<user>@<host>', 'List<String>'],
    text=['Your boat', 'What to bring', 'A hat.', 'Bow', 'The front.', 'Stern', 'The back.', 'Write to <crew>@<club> or use List<String>.'],
    hidden=['Laser', 'Bring a towel.', 'Morning', 'Evening', 'Book'])
add('html-korean.html', page('<h1>항해 수업</h1>\n<p>수업은 매주 토요일 오전 10시에\n시작합니다. 요금은 30,000원입니다.</p>', attributes=' lang="ko"'), language='ko', covers=['Korean'],
    text=['항해 수업', '수업은 매주 토요일 오전 10시에 시작합니다. 요금은 30,000원입니다.'], numbers=['10시에', '30,000원입니다'])

add('html-utf-16-without-mark.html', page('<p>Uma lição de vela: 20 €.</p>', head=''), encoding='utf-16-le', language='pt', covers=['UTF-16 without mark'], text=['Uma lição de vela: 20 €.'], numbers=['20 €'])
add('html-persian-hindi-emoji.html', page('<p lang="fa" dir="rtl">می\u200cخواهم قایق‌رانی را یاد بگیرم.</p>\n<p lang="hi">क्&zwj;षमा करें, समय 10 बजे है।</p>\n<p>A family 👨‍👩‍👧 at 9.</p>'), language='fa', covers=['U+200C', 'U+200D', 'U+200D in emoji'],
    text=['می\u200cخواهم قایق‌رانی را یاد بگیرم.', 'क्\u200dषमा करें, समय 10 बजे है।', 'A family 👨‍👩‍👧 at 9.'], numbers=['10 बजे', 'at 9'])

# --- Markdown
add('markdown-front-matter.md', '---\ntitle: Anchors\ndate: 2026-03-01\ntags: [anchor, chain]\ndraft: false\n---\n\n# Anchors\n\nUse 5 m of chain for each metre of depth.\n', covers=['front matter'],
    text=['Anchors', 'Use 5 m of chain for each metre of depth.'], numbers=['5 m'], hidden=['title: Anchors', 'date: 2026-03-01', 'tags: [anchor, chain]', 'draft: false'])
add('markdown-numbered-lists.md', '# Steps\n\n3. Make a loop\n4. Pass the end\n\nA word between.\n\n5. Pull tight\n\n7) Check\n8) Check again\n   1. the loop\n   2. the end\n\n- [ ] Coil the rope\n- [x] Stow it\n',
    covers=['numbered list, start', 'numbered list, continued'],
    text=['Steps', '3. Make a loop', '4. Pass the end', 'A word between.', '5. Pull tight', '7) Check', '8) Check again', '1. the loop', '2. the end', 'Coil the rope', 'Stow it'],
    numbers=['5. Pull tight', '7) Check', '8) Check again'], same={}, hidden=['x'])
add('markdown-latex.md', '# Force\n\nForce is $F = m \\cdot a$, and energy is $E = mc^2$.\n\n$$\n\\frac{a+b}{2} = x_1\n$$\n\nThe set is $\\{a_1*b, a_2*c\\}$. It costs $5 or $6, as \\$7 did.\n',
    covers=['LaTeX'], text=['Force', 'Force is F=m·a, and energy is E=mc².', '(a+b)/2=x₁', 'The set is {a_1*b, a_2*c}. It costs $5 or $6, as $7 did.'], numbers=['E=mc²', '$5 or $6'],
    same={'F=m·a': ['$F=m \\cdot a$', 'F=m \\cdot a', 'F=m⋅a'], 'E=mc²': ['$E=mc²$', '$E=mc^2$'], '{a_1*b, a_2*c}': ['$\\{a_1*b, a_2*c\\}$', '\\{a_1*b, a_2*c\\}'], '(a+b)/2=x₁': ['$$ \\frac{a+b}{2}=x_1 $$', '$$\\frac{a+b}{2}=x_1$$', '\\frac{a+b}{2}=x_1', '$$\n\\frac{a+b}{2}=x_1\n$$']})
add('markdown-angles.md', '# Mail\n\nWrite to <user>@<host>, such as crew@example.com.\n\nA List<String> holds names; Map<K, V> holds pairs. If a < b and c > d, stop.\n\nSee <https://example.com/a?b=1> for more. Use `git push <remote> <branch>`.\n',
    covers=['<user>@<host>', 'List<String>'],
    text=['Mail', 'Write to <user>@<host>, such as crew@example.com.', 'A List<String> holds names; Map<K, V> holds pairs. If a < b and c > d, stop.', 'See https://example.com/a?b=1 for more. Use git push <remote> <branch>.'])
add('markdown-tables.md', '# Knots\n\n| Knot | Strength | Minutes |\n|---|---:|---:|\n| Bowline | | 60 |\n| Reef knot | 45 | |\n| Clove hitch | | |\n\n| | Low | High |\n|---|---|---|\n| Spring | 0.4 m | 4.6 m |\n| Neap | | 3.1 m |\n',
    covers=['empty cells'], text=['Knots', *rows(rates), 'Low | High', 'Spring | 0.4 m | 4.6 m', 'Neap | 3.1 m'],
    cells=cells(rates) + [cell('Low', 'Spring', '0.4 m'), cell('High', 'Spring', '4.6 m'), cell('High', 'Neap', '3.1 m'), cell('Low', 'Neap', '')])
add('markdown-long-table.md', '# Stock\n\n' + '\n'.join(f'| {" | ".join(row)} |' for row in [stock[0], ['---'] * 4, *stock[1:]]) + '\n', covers=['table longer than a passage'],
    text=['Stock', *rows(stock)], cells=cells(stock, (1, 2), (9, 3), (17, 1), (25, 2), (33, 3), (40, 2)))
add('markdown-footnotes-and-html.md', '# Units\n\nThe lake has 10<sup>3</sup> boats on 5 km<sup>2</sup>.[^1] Water is H<sub>2</sub>O.\n\n<details><summary>More</summary>\n\nIt froze in 1963.\n\n</details>\n\n<!-- Not for readers. -->\n\n[^1]: Counted in May.\n\n![A map of the lake](map.png)\n',
    covers=['superscript', 'subscript', 'footnote mark beside a number', 'alternative text', 'HTML comment'],
    text=['Units', 'The lake has 10³ boats on 5 km². [1] Water is H₂O.', 'More', 'It froze in 1963.', anywhere('1'), anywhere('Counted in May.'), anywhere('[Picture: A map of the lake]')],
    numbers=['10³ boats', '5 km²', 'H₂O'], absent=['Not for readers'], same={'km². [1] Water': ['km².[1] Water', 'km².[^1] Water', 'km².¹ Water', 'km².^1 Water'], '[1]': ['[^1]']})
add('markdown-japanese-lines.md', '# 練習\n\n練習は毎週土曜日に\n港で行います。雨の日は\n休みです。\n\n- 救命胴衣\n- 帽子\n', language='ja', covers=['CJK lines'], text=['練習', '練習は毎週土曜日に港で行います。雨の日は休みです。', '救命胴衣', '帽子'])
add('markdown-persian.md', '# درس یکم\n\nمی‌خواهم قایق‌رانی را یاد بگیرم. کلاس‌ها ساعت ۱۰ آغاز می‌شوند.\n', language='fa', covers=['U+200C'],
    text=['درس یکم', 'می‌خواهم قایق‌رانی را یاد بگیرم. کلاس‌ها ساعت ۱۰ آغاز می‌شوند.'], numbers=['ساعت ۱۰'])
add('markdown-utf-16-with-mark.md', '\ufeff# Preço\n\nA aula custa 25 €.\n', encoding='utf-16-le', language='pt', covers=['UTF-16 with mark'], text=['Preço', 'A aula custa 25 €.'], numbers=['25 €'])

add('markdown-utf-16-without-mark.md', '# Preço\n\nA aula custa 25 €.\n', encoding='utf-16-be', language='pt', covers=['UTF-16 without mark'], text=['Preço', 'A aula custa 25 €.'], numbers=['25 €'])

# --- Lessons
add('lesson-angles.md', '## Mail\n\nWrite to <user>@<host>.\n\nUse List<String> and Map<K, List<V>>. Press <Enter>.\n\n    if (a < b) stop();\n', covers=['<user>@<host>', 'List<String>'],
    text=['Mail', 'Write to <user>@<host>.', 'Use List<String> and Map<K, List<V>>. Press <Enter>.', 'if (a < b) stop();'])
add('lesson-latex.md', '## Area\n\nA circle has the area $A = \\pi r^2$. Ten cubed is 10³; ten to the sixth is $10^{6}$.\n', covers=['LaTeX', 'superscript'],
    text=['Area', 'A circle has the area A=πr². Ten cubed is 10³; ten to the sixth is 10⁶.'], numbers=['10³', '10⁶'],
    same={'A=πr²': ['$A=\\pi r^2$', 'A=π r²', 'A=\\pi r^2', 'A=π r^2'], '10⁶': ['$10^{6}$', '$10^6$']})
add('lesson-table.md', '| Dia | Aula | Sala |\n|---|---|---|\n| Segunda | Nós | |\n| Terça | | 4 |\n| Quarta | Marés | 5 |\n', language='pt', covers=['empty cells'],
    text=['Dia | Aula | Sala', 'Segunda | Nós', 'Terça | 4', 'Quarta | Marés | 5'], cells=cells([['Dia', 'Aula', 'Sala'], ['Segunda', 'Nós', ''], ['Terça', '', '4'], ['Quarta', 'Marés', '5']]))
add('lesson-hindi.md', '## पहला पाठ\n\nनाव धीरे चलाएँ। क्‍षमा करें, यह रास्ता बंद है। समय 10 बजे है।\n', language='hi', covers=['U+200D'], text=['पहला पाठ', 'नाव धीरे चलाएँ। क्‍षमा करें, यह रास्ता बंद है। समय 10 बजे है।'], numbers=['10 बजे'])
add('lesson-emoji.md', 'Bring your family 👨‍👩‍👧 and a flag 🏴‍☠️ at 9. Well done 👍🏽 to all.\n', covers=['U+200D in emoji'], text=['Bring your family 👨‍👩‍👧 and a flag 🏴‍☠️ at 9. Well done 👍🏽 to all.'], numbers=['at 9'])
add('lesson-chinese-lines.md', '## 第一课\n\n课程从上午九点\n开始，请提前十分钟\n到达。\n\n1. 检查船体\n2. 升起船帆\n', language='zh', covers=['CJK lines'], text=['第一课', '课程从上午九点开始，请提前十分钟到达。', '1. 检查船体', '2. 升起船帆'])
add('lesson-front-matter-like.md', '---\n\nA line of dashes is a rule here.\n\n---\n\nAnd here.\n', covers=['no front matter'], text=['A line of dashes is a rule here.', 'And here.'])
add('lesson-video-and-picture.md', '## Watch\n\n![The knot, seen from above](https://example.com/knot.png)\n\n[Watch the film](https://example.com/film)\n\n1. Look\n1. Try\n1. Repeat\n', covers=['alternative text', 'numbered list'],
    text=['Watch', '[Picture: The knot, seen from above]', 'Watch the film', '1. Look', '2. Try', '3. Repeat'], numbers=['3. Repeat'])

# --- Plain text
add('plain-signs-of-markdown.txt', '# 1 of the series\n\n2 * 3 * 4 is 24, and a_b_c is a name.\n\n* not a list *\n\nThe array is x[i](j), its file [notes](draft).\n\n```\nFence\n```\n\n1986. A great year.\n', covers=['text/plain like Markdown'],
    text=['# 1 of the series', '2 * 3 * 4 is 24, and a_b_c is a name.', '* not a list *', 'The array is x[i](j), its file [notes](draft).', '```', 'Fence', '```', '1986. A great year.'], numbers=['24', '1986. A'])
add('plain-log-with-hashes.txt', '#!/bin/sh\n# Copies the boats\n## twice\ncp <from> <to>\n\nIf x < 3 & y > 4, see List<String> and <user>@<host>.\n', covers=['text/plain like Markdown', '<user>@<host>', 'List<String>'],
    text=['#!/bin/sh # Copies the boats ## twice cp <from> <to>', 'If x < 3 & y > 4, see List<String> and <user>@<host>.'])
words16 = 'A lição de vela começa às 9 horas.\n\nTraga 2 litros de água.\n'
for name, encoding, mark in [('little-endian', 'utf-16-le', ''), ('big-endian', 'utf-16-be', ''), ('with-mark', 'utf-16-le', '\ufeff')]:
    add(f'plain-utf-16-{name}.txt', mark + words16, encoding=encoding, language='pt', covers=['UTF-16 with mark' if mark else 'UTF-16 without mark'],
        text=['A lição de vela começa às 9 horas.', 'Traga 2 litros de água.'], numbers=['9 horas', '2 litros'])
add('plain-chinese-lines.txt', '潮水每天涨落两次。\n涨潮大约六个小时，\n退潮也是如此。\n\n请在 10 点前到达。\n', language='zh', covers=['CJK lines'], text=['潮水每天涨落两次。涨潮大约六个小时，退潮也是如此。', '请在 10 点前到达。'], numbers=['10'])
add('plain-arabic.txt', 'يبدأ الدرس في الساعة ١٠:٣٠ صباحًا.\n\nالسعر ٢٥٫٥٠ يورو لكل طالب.\n', language='ar', covers=['Arabic'], text=['يبدأ الدرس في الساعة ١٠:٣٠ صباحًا.', 'السعر ٢٥٫٥٠ يورو لكل طالب.'], numbers=['٢٥٫٥٠ يورو'])
add('plain-persian.txt', 'قایق‌ها در بندر می‌مانند.\n\nهزینه ۵۰ یورو است.\n', language='fa', covers=['U+200C'], text=['قایق‌ها در بندر می‌مانند.', 'هزینه ۵۰ یورو است.'], numbers=['۵۰ یورو'])
add('plain-thai.txt', 'เรียนแล่นเรือทุกวันเสาร์\nเริ่มเวลา 9 โมงเช้า\n\nราคา 500 บาท\n', language='th', covers=['Thai'], text=['เรียนแล่นเรือทุกวันเสาร์', 'เริ่มเวลา 9 โมงเช้า', 'ราคา 500 บาท'], numbers=['500'])
add('plain-windows-1252.txt', 'Café à côté – 12 € “menu”.\n', encoding='windows-1252', language='fr', covers=['Windows-1252'], text=['Café à côté – 12 € “menu”.'], numbers=['12 €'])
add('plain-raised-signs.txt', 'The pool holds 10³ litres on 25 m². Water is H₂O. x₁ + x₂ = 10⁻³.\n', covers=['superscript', 'subscript'], text=['The pool holds 10³ litres on 25 m². Water is H₂O. x₁+x₂=10⁻³.'], numbers=['10³ litres', '25 m²', 'H₂O', 'x₁+x₂=10⁻³'])
poem = 'Red to red,\nand green to green,\nsail in between.\n'
add('plain-hyphens.txt', 'The cata-\nmaran has two hulls; it is a well-\nknown boat.\n\n' + poem, covers=["hyphen at a line's end"], text=['The cata- maran has two hulls; it is a well- known boat.', 'Red to red, and green to green, sail in between.'],
    same={'cata- maran': ['catamaran'], 'well- known': ['well-known']})


# --- CSV
def csv_of(table, delimiter=','):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator='\r\n').writerows(table)
    return out.getvalue()


PYTHON = 'csv of Python'
boats = [['Boat', 'Length', 'Berth', 'Owner'], ['Albatross', '7.5 m', 'B3', 'Ana Prado'], ['Gull', '', 'C1', 'Lee, Kim'], ['Tern', '5 m', '', ''], ['Heron "II"', '9 m', 'A2', 'Line one']]
add('csv-header-and-empty-cells.csv', csv_of(boats), writer=PYTHON, covers=['rows with header', 'empty cells'], text=rows(boats), cells=cells(boats))
precos = [['Produto', 'Preço', 'Stock'], ['Colete', '39,90', '12'], ['Corda 10 m', '', '3'], ['Âncora', '120,00', '']]
add('csv-semicolons.csv', '\ufeff' + csv_of(precos, ';'), writer=PYTHON, language='pt', covers=['rows with header', 'semicolons', 'empty cells'], text=rows(precos), numbers=['39,90'], cells=cells(precos))
quoted = [['Question', 'Answer', 'Points'], ['What holds the boat?', 'An anchor.\nIt digs in.', '2'], ['Who steers?', 'The helm, alone', '']]
add('csv-quoted-line-ends.csv', csv_of(quoted), writer=PYTHON, covers=['line end inside a cell'], text=['Question | Answer | Points', 'What holds the boat? | An anchor. It digs in. | 2', 'Who steers? | The helm, alone'],
    cells=[cell('Answer', 'What holds the boat?', 'An anchor. It digs in.'), cell('Points', 'What holds the boat?', '2'), cell('Answer', 'Who steers?', 'The helm, alone'), cell('Points', 'Who steers?', '')])
add('csv-long.csv', csv_of(stock), writer=PYTHON, covers=['table longer than a passage', 'rows with header'], text=rows(stock), cells=cells(stock, (1, 2), (9, 3), (17, 1), (25, 2), (33, 3), (40, 2)))
add('csv-utf-16-tabs.csv', '\ufeff' + csv_of([['名前', '電話', '級'], ['田中', '', '一'], ['鈴木', '555-0101', '']], '\t'), encoding='utf-16-le', writer=PYTHON, language='ja', covers=['UTF-16 with mark', 'tabs', 'empty cells'],
    text=['名前 | 電話 | 級', '田中 | 一', '鈴木 | 555-0101'], cells=cells([['名前', '電話', '級'], ['田中', '', '一'], ['鈴木', '555-0101', '']]))
add('csv-named-as-excel.csv', csv_of([['Name', 'Score'], ['Ana', '10'], ['Bo', '']]), writer=PYTHON, says='application/vnd.ms-excel', covers=['media type of Excel'], text=['Name | Score', 'Ana | 10', 'Bo'], cells=[cell('Score', 'Ana', '10'), cell('Score', 'Bo', '')])
add('csv-utf-16-without-mark.csv', csv_of(precos, ';'), encoding='utf-16-le', writer=PYTHON, language='pt', covers=['UTF-16 without mark', 'semicolons', 'empty cells'], text=rows(precos), numbers=['39,90'], cells=cells(precos))
