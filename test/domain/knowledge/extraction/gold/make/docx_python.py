"""Word files by python-docx."""
from datetime import datetime

from docx import Document
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from gold import anywhere, cell, cells, gold, path_of, rows
from PIL import Image, ImageDraw

MADE = __file__
WRITER = 'python-docx 1.2.0'


def save(document, file, **known):
    document.core_properties.modified = document.core_properties.created = datetime(2026, 1, 1)
    document.save(path_of(file))
    gold(file, writer=WRITER, made=MADE, **known)


def raised(paragraph, text):
    paragraph.add_run(text).font.superscript = True


def lowered(paragraph, text):
    paragraph.add_run(text).font.subscript = True


document = Document()
document.add_heading('Units', 1)
one = document.add_paragraph('A cube of 10 m has 10')
raised(one, '3')
one.add_run(' m')
raised(one, '3')
one.add_run(', its floor 100 m')
raised(one, '2')
one.add_run('. Water is H')
lowered(one, '2')
one.add_run('O. It was the 1')
raised(one, 'st')
one.add_run(' of May.')
two = document.add_paragraph('A millionth is 10')
run = two.add_run('−6')
run._r.get_or_add_rPr().append(parse_xml(f'<w:position {nsdecls("w")} w:val="8"/>'))
two.add_run('.')
save(document, 'docx-raised-and-lowered.docx', covers=['superscript', 'subscript'], text=['Units', 'A cube of 10 m has 10³ m³, its floor 100 m². Water is H₂O. It was the 1st of May.', 'A millionth is 10⁻⁶.'],
     numbers=['10³ m³', '100 m²', 'H₂O', '10⁻⁶'], same={'1st': ['1^st']})

rates = [['Knot', 'Strength', 'Minutes'], ['Bowline', '', '60'], ['Reef knot', '45', ''], ['Clove hitch', '', '']]


def add_table(document, values, row_headers=False):
    table = document.add_table(len(values), len(values[0]))
    for r, row in enumerate(values):
        for c, value in enumerate(row):
            table.cell(r, c).text = value
    return table


document = Document()
document.add_paragraph('The knots of the first lesson.')
add_table(document, rates)
save(document, 'docx-table-empty-cells.docx', covers=['empty cells'], text=['The knots of the first lesson.', *rows(rates)], cells=cells(rates))
stock = [['Article', 'Place', 'Pieces', 'Price']] + [[f'Shackle of size {n}', f'Shelf {n % 7 + 1}', str(n * 3), f'{n}.50'] for n in range(1, 41)]
document = Document()
table = add_table(document, stock)
table.rows[0]._tr.get_or_add_trPr().append(OxmlElement('w:tblHeader'))
save(document, 'docx-long-table.docx', covers=['table longer than a passage'], text=rows(stock), cells=cells(stock, (1, 2), (9, 3), (17, 1), (25, 2), (33, 3), (40, 2)))

picture = '/tmp/gold-picture.png'
image = Image.new('L', (600, 120), 255)
ImageDraw.Draw(image).text((20, 40), 'Never sail alone.', fill=0)
image.save(picture)
document = Document()
document.add_paragraph('The loop:')
document.add_picture(picture)
document.paragraphs[-1]._p.find('.//' + qn('wp:docPr')).set('descr', 'A bowline around a post')
document.add_paragraph('It holds.')
save(document, 'docx-alternative-text.docx', covers=['alternative text'], text=['The loop:', anywhere('[Picture: A bowline around a post]'), 'It holds.'])
document = Document()
document.add_picture(picture)
save(document, 'docx-of-a-picture.docx', covers=['page that is a picture'], text=[], refused=['no_text'])

document = Document()
document.add_heading('שיעור ראשון', 1)
for text in ['הקורס מתחיל ב-12:30 ונמשך 90 דקות.', 'הספר Sailing 101 נמצא בספרייה.']:
    paragraph = document.add_paragraph()
    paragraph._p.get_or_add_pPr().append(OxmlElement('w:bidi'))
    run = paragraph.add_run(text)
    run._r.get_or_add_rPr().append(OxmlElement('w:rtl'))
add_table(document, [['יום', 'שעה'], ['שני', ''], ['שישי', '9:00']])
save(document, 'docx-hebrew.docx', language='he', covers=['Hebrew', 'empty cells'], text=['שיעור ראשון', 'הקורס מתחיל ב-12:30 ונמשך 90 דקות.', 'הספר Sailing 101 נמצא בספרייה.', 'יום | שעה', 'שני', 'שישי | 9:00'],
     numbers=['90', 'Sailing 101'], cells=[cell('שעה', 'שני', ''), cell('שעה', 'שישי', '9:00')])
document = Document()
document.add_paragraph('Write to <user>@<host>; a List<String> holds names & numbers.')
document.add_paragraph('if (a < b) && c > d')
save(document, 'docx-angles.docx', covers=['<user>@<host>', 'List<String>'], text=['Write to <user>@<host>; a List<String> holds names & numbers.', 'if (a < b) && c > d'])
document = Document()
document.add_paragraph('می‌خواهم قایق‌رانی را یاد بگیرم.')
document.add_paragraph('کلاس‌ها ساعت ۱۰ آغاز می‌شوند.')
save(document, 'docx-persian.docx', language='fa', covers=['U+200C'], text=['می‌خواهم قایق‌رانی را یاد بگیرم.', 'کلاس‌ها ساعت ۱۰ آغاز می‌شوند.'], numbers=['ساعت ۱۰'])
document = Document()
section = document.sections[0]
section.header.paragraphs[0].text = 'Handbook of the club'
section.footer.paragraphs[0].text = 'Page 1'
document.add_paragraph('The first rule is to look.')
save(document, 'docx-header-and-footer.docx', covers=['header and footer'], text=['The first rule is to look.'], hidden=['Handbook of the club', 'Page 1'])
