"""Slides by python-pptx, and what PowerPoint writes and python-pptx cannot, put into its XML."""
import re
import zipfile
from datetime import datetime

from gold import anywhere, cell, cells, gold, path_of, rows, unreadable, write_zip
from PIL import Image, ImageDraw
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml import parse_xml
from pptx.util import Inches, Pt

MADE = __file__
WRITER = 'python-pptx 1.0.2'
NAMES = ('xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
         'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
         'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
         'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" xmlns:p14="http://schemas.microsoft.com/office/powerpoint/2010/main"')
BOX = (Inches(1), Inches(2), Inches(6), Inches(1.5))


class Deck:
    def __init__(self, file):
        self.file = file
        self.deck = Presentation()

    def slide(self, title=None, *texts, layout=None):
        slide = self.deck.slides.add_slide(self.deck.slide_layouts[layout if layout is not None else 1 if texts else 5 if title else 6])
        if title:
            slide.shapes.title.text = title
        for n, text in enumerate(texts):
            frame = slide.placeholders[1].text_frame
            (frame.paragraphs[0] if n == 0 else frame.add_paragraph()).text = text
        return slide

    def box(self, slide, *runs):
        """@param runs texts, or (text, baseline in thousandths of a percent)"""
        paragraph = slide.shapes.add_textbox(*BOX).text_frame.paragraphs[0]
        for one in runs:
            run = paragraph.add_run()
            run.text, baseline = (one, None) if isinstance(one, str) else one
            if baseline:
                run.font._element.set('baseline', str(baseline))

    def table(self, slide, values):
        table = slide.shapes.add_table(len(values), len(values[0]), *BOX).table
        for r, row in enumerate(values):
            for c, value in enumerate(row):
                table.cell(r, c).text = value
        return table

    def save(self, change=None, **known):
        self.deck.core_properties.modified = datetime(2026, 1, 1)
        self.deck.save(path_of(self.file))
        with zipfile.ZipFile(path_of(self.file)) as archive:
            used = [name for name in archive.namelist() if not re.search(r'printerSettings|thumbnail', name)]
            parts = {name: archive.read(name) for name in used}
        for name in ['ppt/_rels/presentation.xml.rels', '_rels/.rels']:
            parts[name] = re.sub(rb'<Relationship [^>]*(printerSettings|thumbnail)[^>]*/>', b'', parts[name])
        write_zip(self.file, change(parts) if change else parts)
        gold(self.file, made=MADE, **{'writer': WRITER, **known})


deck = Deck('pptx-raised-and-lowered.pptx')
deck.box(deck.slide('Units'), 'The pool holds 10', ('3', 30000), ' litres on 25 m', ('2', 30000), '. Water is H', ('2', -25000), 'O.')
deck.save(covers=['superscript', 'subscript'], text=['Units', 'The pool holds 10³ litres on 25 m². Water is H₂O.'], numbers=['10³ litres', '25 m²', 'H₂O'])

rates = [['Knot', 'Strength', 'Minutes'], ['Bowline', '', '60'], ['Reef knot', '45', ''], ['Clove hitch', '', '']]
deck = Deck('pptx-table-empty-cells.pptx')
deck.table(deck.slide('Knots'), rates)
deck.save(covers=['empty cells'], text=['Knots', *rows(rates)], cells=cells(rates))
deck = Deck('pptx-table-merged-cells.pptx')
week = [['Day', 'Morning', 'Noon', 'Evening'], ['Monday', 'Swim', 'Sail', ''], ['', 'Run', 'Rest', 'Sing'], ['Friday', 'Row', 'Eat', 'Dance']]
table = deck.table(deck.slide('Week'), week)
table.cell(1, 0).merge(table.cell(2, 0))
table.cell(1, 2).merge(table.cell(1, 3))
deck.save(covers=['rowspan', 'colspan'], text=['Week', *rows(week)], cells=[cell('Morning', 'Monday', 'Swim'), cell('Noon', 'Run', 'Rest'), cell('Evening', 'Run', 'Sing'), cell('Evening', 'Friday', 'Dance')],
          repeatable=['Monday', 'Sail'])
deck = Deck('pptx-long-table.pptx')
stock = [['Article', 'Place', 'Pieces', 'Price']] + [[f'Shackle of size {n}', f'Shelf {n % 7 + 1}', str(n * 3), f'{n}.50'] for n in range(1, 31)]
deck.table(deck.slide('Stock'), stock)
deck.save(covers=['table longer than a passage'], text=['Stock', *rows(stock)], cells=cells(stock, (1, 2), (12, 3), (22, 1), (30, 2)))

deck = Deck('pptx-hidden-slide.pptx')
deck.slide('Welcome', 'The course has six lessons.')
deck.slide('Prices inside', 'The margin is 12 euros.')._element.set('show', '0')
deck.slide('Goodbye', 'See you at the pier.')
deck.save(covers=['hidden slide'], text=['Welcome', 'The course has six lessons.', 'Goodbye', 'See you at the pier.'], hidden=['Prices inside', 'The margin is 12 euros.'])

deck = Deck('pptx-chart.pptx')
data = CategoryChartData()
data.categories = ['Spring', 'Autumn']
data.add_series('Students', (31, 48))
chart = deck.slide('Growth').shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, data).chart
chart.has_title = True
chart.chart_title.text_frame.text = 'Students a season'
deck.save(covers=['chart'], text=['Growth', *map(anywhere, ['Students a season', 'Students', 'Spring', '31', 'Autumn', '48'])], repeatable=['Students', 'Spring', 'Autumn'])

deck = Deck('pptx-smartart.pptx')
slide = deck.slide('Leaving')
slide.shapes._spTree.append(parse_xml(
    f'<p:graphicFrame {NAMES}><p:nvGraphicFramePr><p:cNvPr id="9" name="Diagram 9"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm>'
    '<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram"><dgm:relIds r:dm="rId91" r:lo="rId92" r:qs="rId93" r:cs="rId94"/></a:graphicData></a:graphic></p:graphicFrame>'))


def with_diagram(parts):
    rels = 'ppt/slides/_rels/slide1.xml.rels'
    parts[rels] = parts[rels].replace(b'</Relationships>', b'<Relationship Id="rId91" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData" Target="../diagrams/data1.xml"/></Relationships>')
    points = ''.join(f'<dgm:pt modelId="{n}"><dgm:t><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>' for n, text in enumerate(['Check the wind', 'Raise the sail', 'Cast off'], 1))
    parts['ppt/diagrams/data1.xml'] = f'<?xml version="1.0" encoding="UTF-8"?><dgm:dataModel {NAMES}><dgm:ptLst><dgm:pt modelId="0" type="doc"/>{points}</dgm:ptLst><dgm:cxnLst/></dgm:dataModel>'
    parts['[Content_Types].xml'] = parts['[Content_Types].xml'].replace(b'</Types>', b'<Override PartName="/ppt/diagrams/data1.xml" ContentType="application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml"/></Types>')
    return parts


deck.save(with_diagram, covers=['SmartArt'], text=['Leaving', *map(anywhere, ['Check the wind', 'Raise the sail', 'Cast off'])])


def picture(text, file='/tmp/gold-picture.png'):
    image = Image.new('L', (600, 120), 255)
    ImageDraw.Draw(image).text((20, 40), text, fill=0)
    image.save(file)
    return file


deck = Deck('pptx-alternative-text.pptx')
shape = deck.slide('Bowline').shapes.add_picture(picture('1'), *BOX[:2])
shape._element.nvPicPr.cNvPr.set('descr', 'A loop around a post')
deck.save(covers=['alternative text'], text=['Bowline', anywhere('[Picture: A loop around a post]')])
deck = Deck('pptx-slide-of-a-picture.pptx')
deck.slide('First', 'This slide is text.')
deck.slide().shapes.add_picture(picture('The second slide is a scan.'), 0, 0, width=deck.deck.slide_width, height=deck.deck.slide_height)
deck.save(covers=['page that is a picture'], text=['First', 'This slide is text.', unreadable('The second slide is a scan.', 'page_is_a_picture', 2)])

deck = Deck('pptx-main-part-elsewhere.pptx')
deck.slide('Tides', 'The range at springs is 4.2 m.')


def renamed(parts):
    parts['ppt/presentation2.xml'] = parts.pop('ppt/presentation.xml')
    parts['ppt/_rels/presentation2.xml.rels'] = parts.pop('ppt/_rels/presentation.xml.rels')
    for name in ['_rels/.rels', '[Content_Types].xml']:
        parts[name] = parts[name].replace(b'ppt/presentation.xml', b'ppt/presentation2.xml')
    for name in parts:
        if name.endswith('.rels'):
            parts[name] = parts[name].replace(b'../presentation.xml', b'../presentation2.xml')
    return parts


deck.save(renamed, covers=['main part by _rels/.rels'], text=['Tides', 'The range at springs is 4.2 m.'], numbers=['4.2 m'])


def shape_of(text, number=20):
    return (f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="Text {number}"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr/>'
            f'<p:txBody><a:bodyPr/><a:p>{text if text.startswith("<") else f"<a:r><a:t>{text}</a:t></a:r>"}</a:p></p:txBody></p:sp>')


math = '<a14:m><m:oMath><m:r><m:t>E=m</m:t></m:r><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></a14:m>'
deck = Deck('pptx-equation.pptx')
deck.slide('Energy').shapes._spTree.append(parse_xml(
    f'<mc:AlternateContent {NAMES}><mc:Choice Requires="a14">{shape_of("<a:r><a:t>Energy is </a:t></a:r>" + math)}</mc:Choice><mc:Fallback>{shape_of("<a:r><a:t> </a:t></a:r>")}</mc:Fallback></mc:AlternateContent>'))
deck.save(covers=['OMML', 'mc:AlternateContent'], text=['Energy', 'Energy is E=mc².'], numbers=['E=mc²'], same={'E=mc²': ['E=mc^{2}', 'E=m c²']})
deck = Deck('pptx-alternate-content.pptx')
tree = deck.slide('Choices').shapes._spTree
tree.append(parse_xml(f'<mc:AlternateContent {NAMES}><mc:Choice Requires="p14">{shape_of("New form of the words.")}</mc:Choice><mc:Fallback>{shape_of("Old form of the words.")}</mc:Fallback></mc:AlternateContent>'))
tree.append(parse_xml(f'<mc:AlternateContent {NAMES} xmlns:zz="urn:nobody:knows"><mc:Choice Requires="zz"><zz:thing/></mc:Choice><mc:Fallback>{shape_of("Only here.", 22)}</mc:Fallback></mc:AlternateContent>'))
deck.save(covers=['mc:AlternateContent', 'text box with fallback'], text=['Choices', anywhere('New form of the words.'), anywhere('Only here.')], absent=['Old form'])

deck = Deck('pptx-numbered-list-and-fields.pptx')
slide = deck.slide('Steps', 'Check the hull', 'Check the sails', 'Cast off')
for n, paragraph in enumerate(slide.placeholders[1].text_frame.paragraphs):
    properties = paragraph._p.get_or_add_pPr()
    properties.append(parse_xml(f'<a:buAutoNum {NAMES} type="arabicPeriod" startAt="3"/>'))
slide.shapes._spTree.append(parse_xml(shape_of('<a:r><a:t>Begin on </a:t></a:r><a:fld id="{0A1B2C3D-0000-4000-8000-000000000001}" type="datetime1"><a:t>3 May</a:t></a:fld><a:r><a:t> at noon.</a:t></a:r>').replace('<p:sp>', f'<p:sp {NAMES}>')))
group = slide.shapes.add_group_shape()
group.shapes.add_textbox(*BOX).text_frame.text = 'Inside a group.'
deck.save(covers=['numbered list, start', 'fields', 'grouped shapes'], text=['Steps', '3. Check the hull', '4. Check the sails', '5. Cast off', anywhere('Begin on 3 May at noon.'), anywhere('Inside a group.')],
          numbers=['3. Check the hull', '5. Cast off', 'on 3 May'])
deck = Deck('pptx-thai.pptx')
deck.slide('บทที่ 1', 'เรียนแล่นเรือทุกวันเสาร์', 'ราคา 500 บาท')
deck.save(language='th', covers=['Thai'], text=['บทที่ 1', 'เรียนแล่นเรือทุกวันเสาร์', 'ราคา 500 บาท'], numbers=['500'])
deck = Deck('pptx-notes-and-order.pptx')
slide = deck.slide('Anchors')
for top, text in [(5, 'Last, at the foot.'), (2, 'First, below the title.'), (3.5, 'Second, in the middle.')]:
    slide.shapes.add_textbox(Inches(1), Inches(top), Inches(5), Inches(1)).text_frame.text = text
slide.notes_slide.notes_text_frame.text = 'Tell of the storm.'
deck.save(covers=['reading order by place', 'notes'], text=['Anchors', 'First, below the title.', 'Second, in the middle.', 'Last, at the foot.', anywhere('Tell of the storm.')])
deck = Deck('pptx-persian-and-angles.pptx')
deck.slide('درس یکم', 'می‌خواهم قایق‌رانی را یاد بگیرم.', 'Write to <user>@<host>; use List<String>.')
deck.save(language='fa', covers=['U+200C', '<user>@<host>', 'List<String>'], text=['درس یکم', 'می‌خواهم قایق‌رانی را یاد بگیرم.', 'Write to <user>@<host>; use List<String>.'])
