"""PDF by reportlab, and by pikepdf where it changes what reportlab wrote."""
import io

import pikepdf
from gold import anywhere, cell, cells, gold, path_of, rows, unreadable
from PIL import Image, ImageDraw
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import CIDFont, UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

MADE = __file__
WRITER = 'reportlab 5.1.0'
BODY = ParagraphStyle('body', fontName='Helvetica', fontSize=11, leading=15, spaceAfter=8)
HEADING = ParagraphStyle('heading', fontName='Helvetica-Bold', fontSize=18, leading=22, spaceAfter=8)
FREE_FONTS = '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'
pdfmetrics.registerFont(TTFont('DejaVu', FREE_FONTS))


def add(file, **known):
    gold(file, made=MADE, **{'writer': WRITER, **known})


def story(file, *parts):
    flow = [Paragraph(part, BODY) if isinstance(part, str) else part for part in parts]
    SimpleDocTemplate(path_of(file), pagesize=A4, invariant=1, leftMargin=70, rightMargin=70).build(flow)


def canvas(file, **options):
    return Canvas(path_of(file), pagesize=A4, invariant=1, **options)


def lines(page, texts, x=72, y=760, size=11, leading=15, font='Helvetica'):
    page.setFont(font, size)
    for text in texts:
        page.drawString(x, y, text)
        y -= leading
    return y


def picture(text):
    image = Image.new('L', (600, 120), 255)
    ImageDraw.Draw(image).text((20, 40), text, fill=0)
    return ImageReader(image)


story('pdf-raised-and-lowered.pdf', Paragraph('Units', HEADING), 'A cube of 10 m has 10<super>3</super> m<super>3</super>, its floor 100 m<super>2</super>.',
      'Water is H<sub>2</sub>O; the gas is CO<sub>2</sub>. A millionth is 10<super>-6</super>.', 'We had 300<super>[1]</super> guests in 2024.', '[1] Counted at the gate.')
add('pdf-raised-and-lowered.pdf', covers=['superscript', 'subscript', 'footnote mark beside a number'],
    text=['Units', 'A cube of 10 m has 10³ m³, its floor 100 m².', 'Water is H₂O; the gas is CO₂. A millionth is 10⁻⁶.', 'We had 300 [1] guests in 2024.', '[1] Counted at the gate.'],
    numbers=['10³ m³', '100 m²', 'H₂O', 'CO₂', '10⁻⁶', '300 [1] guests'], absent=['3001'], same={'300 [1]': ['300[1]', '300^[1]', '300^1']})

rates = [['Knot', 'Strength', 'Minutes'], ['Bowline', '', '60'], ['Reef knot', '45', ''], ['Clove hitch', '', '20']]
GRID = TableStyle([('GRID', (0, 0), (-1, -1), 0.5, colors.black)])
story('pdf-table-empty-cells.pdf', 'The knots of the first lesson.', Table(rates, style=GRID), 'All are tied by hand.')
add('pdf-table-empty-cells.pdf', covers=['empty cells'], text=['The knots of the first lesson.', *rows(rates), 'All are tied by hand.'], cells=cells(rates))
stock = [['Article', 'Place', 'Pieces', 'Price']] + [[f'Shackle of size {n}', f'Shelf {n % 7 + 1}', str(n * 3), f'{n}.50'] for n in range(1, 61)]
story('pdf-long-table.pdf', Table(stock, style=GRID, repeatRows=1))
add('pdf-long-table.pdf', covers=['table longer than a passage', 'table over pages'], text=rows(stock), cells=cells(stock, (1, 2), (17, 1), (33, 3), (60, 2)))
merged = [['Day', 'Morning', 'Noon', 'Evening'], ['Monday', 'Swim', 'Sail', ''], ['', 'Run', 'Rest', 'Sing']]
story('pdf-table-merged-cells.pdf', Table(merged, style=TableStyle([('GRID', (0, 0), (-1, -1), 0.5, colors.black), ('SPAN', (0, 1), (0, 2)), ('SPAN', (2, 1), (3, 1))])))
add('pdf-table-merged-cells.pdf', covers=['rowspan', 'colspan'], text=[anywhere('Monday'), 'Day | Morning | Noon | Evening', 'Swim | Sail', 'Run | Rest | Sing'],
    cells=[cell('Noon', 'Swim', 'Sail'), cell('Noon', 'Run', 'Rest'), cell('Evening', 'Run', 'Sing')], repeatable=['Monday', 'Sail'])

# Fonts that every reader has, by the CMaps that every reader knows.
for file, font, language, texts, numbers in [
    ('pdf-cmap-chinese.pdf', UnicodeCIDFont('STSong-Light'), 'zh', ['潮水每天涨落两次。', '涨潮大约六个小时。'], []),
    ('pdf-cmap-japanese.pdf', UnicodeCIDFont('HeiseiMin-W3'), 'ja', ['船は午後三時に出ます。', '救命胴衣を着てください。'], []),
    ('pdf-cmap-korean.pdf', UnicodeCIDFont('HYSMyeongJo-Medium'), 'ko', ['수업은 매주 토요일 오전 10시에 시작합니다.', '요금은 30,000원입니다.'], ['10시에', '30,000원입니다']),
]:
    pdfmetrics.registerFont(font)
    page = canvas(file)
    lines(page, texts, font=font.fontName, leading=40)
    page.save()
    add(file, language=language, covers=['predefined CMap'], text=texts, numbers=numbers)
page = canvas('pdf-cmap-shift-jis.pdf')
pdfmetrics.registerFont(CIDFont('HeiseiKakuGo-W5', '90ms-RKSJ-H'))
page.setFont('HeiseiKakuGo-W5-90ms-RKSJ-H', 12)
page.drawString(72, 700, '風が強い日は休みです。'.encode('shift_jis').decode('latin-1'))
page.save()
add('pdf-cmap-shift-jis.pdf', language='ja', covers=['predefined CMap'], text=['風が強い日は休みです。'])
page = canvas('pdf-cmap-big5.pdf')
pdfmetrics.registerFont(CIDFont('MSung-Light', 'ETen-B5-H'))
page.setFont('MSung-Light-ETen-B5-H', 12)
page.drawString(72, 700, '帆船課程從九點開始。'.encode('big5').decode('latin-1'))
page.save()
add('pdf-cmap-big5.pdf', language='zh', covers=['predefined CMap'], text=['帆船課程從九點開始。'])
page = canvas('pdf-cjk-lines.pdf')
lines(page, ['練習は毎週土曜日に港で行', 'います。雨の日は休みです', 'ので、家で本を読みます。'], font='HeiseiMin-W3', size=14, leading=20)
page.save()
add('pdf-cjk-lines.pdf', language='ja', covers=['CJK lines', 'predefined CMap'], text=['練習は毎週土曜日に港で行います。雨の日は休みですので、家で本を読みます。'])
page = canvas('pdf-vertical-japanese.pdf')
pdfmetrics.registerFont(UnicodeCIDFont('HeiseiMin-W3', isVertical=True))
page.setFont('HeiseiMin-W3', 16)
for n, column in enumerate(['風を読む練習は', '港で始まります。']):
    page.drawString(400 - n * 30, 700, column)
page.save()
add('pdf-vertical-japanese.pdf', language='ja', covers=['vertical lines'], text=['風を読む練習は港で始まります。'])

page = canvas('pdf-hyphens.pdf')
lines(page, ['The catamaran is a well-known boat. Its two hulls make it sta-', 'ble, and a well-', 'known rule says: keep the weight low. The boat has 1990-', '1995 on its sail.'])
page.save()
add('pdf-hyphens.pdf', covers=["hyphen at a line's end"], text=['The catamaran is a well-known boat. Its two hulls make it stable, and a well-known rule says: keep the weight low. The boat has 1990-1995 on its sail.'],
    numbers=['1990-1995'])
page = canvas('pdf-watermark.pdf')
page.saveState()
page.setFillGray(0.85)
page.translate(150, 500)
page.rotate(45)
page.setFont('Helvetica-Bold', 60)
page.drawString(0, 0, 'DRAFT COPY')
page.restoreState()
lines(page, [f'Rule {n}: the boat on the other tack, number {n}, keeps clear.' for n in range(1, 31)], leading=18)
page.save()
add('pdf-watermark.pdf', covers=['rotated watermark'], text=[f'Rule {n}: the boat on the other tack, number {n}, keeps clear.' for n in range(1, 31)], hidden=['DRAFT COPY'])
page = canvas('pdf-form.pdf')
lines(page, ['Enrolment', 'Name:', 'Boat:', 'Level:', 'I can swim'], leading=40)
page.acroForm.textfield(name='name', value='Ana Prado', x=150, y=712, width=200, height=20, fontName='Helvetica', forceBorder=True)
page.acroForm.textfield(name='boat', value='Laser 7', x=150, y=672, width=200, height=20, fontName='Helvetica', forceBorder=True)
page.acroForm.choice(name='level', value='Beginner', options=['Beginner', 'Advanced'], x=150, y=632, width=120, height=20, fontName='Helvetica')
page.acroForm.checkbox(name='swim', checked=True, x=150, y=594)
page.save()
add('pdf-form.pdf', covers=['form values'], text=['Enrolment', 'Name:', anywhere('Ana Prado'), 'Boat:', anywhere('Laser 7'), 'Level:', anywhere('Beginner'), 'I can swim'], numbers=['Laser 7'], hidden=['Advanced', 'Yes', 'swim'])
page = canvas('pdf-page-of-a-picture.pdf')
lines(page, ['The first page is text.'])
page.showPage()
page.drawImage(picture('The second page is a scan of five rules.'), 50, 500)
page.showPage()
lines(page, ['The third page is text.'])
page.save()
add('pdf-page-of-a-picture.pdf', covers=['page that is a picture'], text=['The first page is text.', unreadable('The second page is a scan of five rules.', 'page_is_a_picture', 2), 'The third page is text.'])
page = canvas('pdf-of-pictures.pdf')
for n in (1, 2):
    page.drawImage(picture(f'Page {n} of a scan.'), 50, 500)
    page.showPage()
page.save()
add('pdf-of-pictures.pdf', covers=['page that is a picture'], text=[], refused=['no_text'])
page = canvas('pdf-recognized-scan.pdf')
page.drawImage(picture('Keep a lookout at all times.'), 50, 500)
text = page.beginText(60, 560)
text.setTextRenderMode(3)
text.setFont('Helvetica', 14)
text.textLine('Keep a lookout at all times.')
page.drawText(text)
page.save()
add('pdf-recognized-scan.pdf', covers=['recognized text under a scan'], text=['Keep a lookout at all times.'])
page = canvas('pdf-two-columns.pdf')
left = ['The wind comes from the', 'land at night, because the', 'land cools faster than the', 'water does after sunset.']
right = ['By day it comes from the', 'sea. It is strongest in the', 'afternoon, at about three,', 'and it dies in the evening.']
for n in range(4):  # line by line over both columns, as some programs write
    lines(page, [left[n]], x=72, y=700 - n * 15)
    lines(page, [right[n]], x=320, y=700 - n * 15)
page.save()
add('pdf-two-columns.pdf', covers=['two columns'], text=[' '.join(left), ' '.join(right)], numbers=['because the land cools', 'strongest in the afternoon'])
page = canvas('pdf-rotated-page.pdf')
page.setPageRotation(90)
page.saveState()
page.rotate(90)
lines(page, ['This page lies on its side.', 'It has two lines.'], x=72, y=-100)
page.restoreState()
page.save()
add('pdf-rotated-page.pdf', covers=['rotated page'], text=['This page lies on its side. It has two lines.'])
page = canvas('pdf-angles.pdf')
lines(page, ['Write to <user>@<host>. A List<String> holds names.', '2 < 3 and 5 > 4.'], leading=15)
page.save()
add('pdf-angles.pdf', covers=['<user>@<host>', 'List<String>'], text=['Write to <user>@<host>. A List<String> holds names. 2 < 3 and 5 > 4.'])
page = canvas('pdf-numbered-list.pdf')
lines(page, ['3. Check the hull', '4. Check the sails', '10. Cast off', 'a) the bow line', 'b) the stern line'])
page.save()
add('pdf-numbered-list.pdf', covers=['numbered list, start'], text=['3. Check the hull', '4. Check the sails', '10. Cast off', 'a) the bow line', 'b) the stern line'], numbers=['10. Cast off'])

# The file draws glyphs without a mapping to letters.
page = canvas('pdf-unmapped-letters.pdf')
lines(page, ['The plan of the club:'])
lines(page, ['Sail at nine, rest at noon.'], font='DejaVu', y=700)
page.save()
with pikepdf.open(path_of('pdf-unmapped-letters.pdf'), allow_overwriting_input=True) as pdf:
    for font in pdf.pages[0].Resources.Font.values():
        if '/ToUnicode' in font:
            del font['/ToUnicode']
            font['/Encoding'] = pikepdf.Dictionary(Type=pikepdf.Name.Encoding, Differences=[0, *[pikepdf.Name(f'/g{n}') for n in range(128)]])
    pdf.save(path_of('pdf-unmapped-letters.pdf'), deterministic_id=True)
add('pdf-unmapped-letters.pdf', covers=['letters without a mapping in the font, known by their codes'], writer=f'{WRITER}, pikepdf 10.18.0', text=['The plan of the club:', 'Sail at nine, rest at noon.'])


def encrypted(file, permission, **known):
    page = canvas(file)
    lines(page, ['The code of the gate is 4711.'])
    page.save()
    with pikepdf.open(path_of(file), allow_overwriting_input=True) as pdf:
        pdf.save(path_of(file), encryption=permission)
    add(file, writer=f'{WRITER}, pikepdf 10.18.0', **known)


encrypted('pdf-owner-password.pdf', pikepdf.Encryption(owner='owner', user='', R=6), covers=['encrypted, open to all'], text=['The code of the gate is 4711.'], numbers=['4711'])
encrypted('pdf-user-password.pdf', pikepdf.Encryption(owner='owner', user='user', R=4), covers=['encrypted'], text=[], refused=['file_encrypted'])

# One stream of the page is encrypted, so no reader can decode it.
page = canvas('pdf-encrypted-part.pdf')
lines(page, ['The first page is open.'])
page.showPage()
lines(page, ['The second page is closed.'])
page.save()
with pikepdf.open(path_of('pdf-encrypted-part.pdf'), allow_overwriting_input=True) as pdf:
    closed = pdf.pages[1].Contents
    data = bytes(byte ^ 0x5A for byte in closed.read_bytes())
    closed.write(data, filter=pikepdf.Name.Crypt, decode_parms=pikepdf.Dictionary(Type=pikepdf.Name.CryptFilterDecodeParms, Name=pikepdf.Name.Club))
    pdf.save(path_of('pdf-encrypted-part.pdf'), deterministic_id=True)
add('pdf-encrypted-part.pdf', covers=['a part with an unknown filter'], writer=f'{WRITER}, pikepdf 10.18.0', text=['The first page is open.', unreadable('The second page is closed.', 'part_skipped', 2)])
