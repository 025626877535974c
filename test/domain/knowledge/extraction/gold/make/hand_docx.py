"""Word files written part by part: what Word, Word Online and other programs write and the libraries cannot."""
from pathlib import Path

from gold import anywhere, cell, gold, path_of, write_zip

MADE = __file__
WRITER = 'written by hand'
OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
NAMES = ' '.join(f'xmlns:{prefix}="{name}"' for prefix, name in {
    'w': 'http://schemas.openxmlformats.org/wordprocessingml/2006/main',
    'r': OFFICE,
    'm': 'http://schemas.openxmlformats.org/officeDocument/2006/math',
    'mc': 'http://schemas.openxmlformats.org/markup-compatibility/2006',
    'wp': 'http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing',
    'a': 'http://schemas.openxmlformats.org/drawingml/2006/main',
    'pic': 'http://schemas.openxmlformats.org/drawingml/2006/picture',
    'c': 'http://schemas.openxmlformats.org/drawingml/2006/chart',
    'dgm': 'http://schemas.openxmlformats.org/drawingml/2006/diagram',
    'wps': 'http://schemas.microsoft.com/office/word/2010/wordprocessingShape',
    'v': 'urn:schemas-microsoft-com:vml',
    'w14': 'http://schemas.microsoft.com/office/word/2010/wordml',
}.items())
MAIN = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'


def run(text, properties=''):
    return f'<w:r>{f"<w:rPr>{properties}</w:rPr>" if properties else ""}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs, properties=''):
    inner = ''.join(one if one.startswith('<') else run(one) for one in runs)
    return f'<w:p>{f"<w:pPr>{properties}</w:pPr>" if properties else ""}{inner}</w:p>'


def heading(text, level=1):
    return paragraph(text, properties=f'<w:pStyle w:val="Heading{level}"/>')


def tc(content, properties=''):
    return f'<w:tc><w:tcPr><w:tcW w:w="2000" w:type="dxa"/>{properties}</w:tcPr>{content if content.startswith("<") else paragraph(content)}</w:tc>'


def tr(*content):
    return f'<w:tr>{"".join(content)}</w:tr>'


def table(*lines):
    grid = '<w:gridCol w:w="2000"/>' * 4
    return f'<w:tbl><w:tblPr><w:tblW w:w="0" w:type="auto"/></w:tblPr><w:tblGrid>{grid}</w:tblGrid>{"".join(lines)}</w:tbl>'


def document(body):
    return f'{HEAD}<w:document {NAMES}><w:body>{body}<w:sectPr><w:pgSz w:w="11906" w:h="16838"/></w:sectPr></w:body></w:document>'


STYLES = HEAD + f'<w:styles {NAMES}>' + ''.join(
    f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/><w:pPr><w:outlineLvl w:val="{n - 1}"/></w:pPr></w:style>'
    for n in (1, 2)) + '</w:styles>'


def relationships(items):
    inner = ''.join(
        f'<Relationship Id="rId{n}" Type="{kind if "://" in kind else f"{OFFICE}/{kind}"}" Target="{target}"/>'
        for n, (kind, target) in enumerate(items, 1))
    return f'{HEAD}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inner}</Relationships>'


def types(overrides):
    inner = ''.join(f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in overrides)
    return (f'{HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>{inner}</Types>')


def write_docx(file, body, *, main='word/document.xml', target=None, related=(), parts=None, rels=True, encoding='utf-8', strict=False):
    """@param related (type, target) of the document's parts, rId2 on; rId1 are the styles"""
    folder, name = main.rsplit('/', 1)
    text = document(body)
    if encoding != 'utf-8':
        text = text.replace('UTF-8', 'UTF-16')
    content = {'[Content_Types].xml': types([(f'/{main}', MAIN), (f'/{folder}/styles.xml', MAIN.replace('document.main', 'styles'))])}
    if rels:
        content['_rels/.rels'] = relationships([('officeDocument', target or main)])
    content[main] = text.encode(encoding)
    content[f'{folder}/_rels/{name}.rels'] = relationships([('styles', 'styles.xml'), *related])
    content[f'{folder}/styles.xml'] = STYLES
    content.update(parts or {})
    if strict:
        content = {name: strictly(part.decode() if isinstance(part, bytes) else part) for name, part in content.items()}
    write_zip(file, content)


def strictly(part):
    return (part.replace('http://schemas.openxmlformats.org/wordprocessingml/2006/main', 'http://purl.oclc.org/ooxml/wordprocessingml/main')
            .replace(OFFICE, 'http://purl.oclc.org/ooxml/officeDocument/relationships'))


def drawing(inner, uri, description='', size=914400):
    return (f'<w:r><w:drawing><wp:inline><wp:extent cx="{size}" cy="{size}"/><wp:docPr id="1" name="Object 1" descr="{description}"/>'
            f'<a:graphic><a:graphicData uri="{uri}">{inner}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>')


# The main part has an unusual name.
tides = heading('Tides') + paragraph('The tide rises for about six hours. The range at springs is 4.2 m.')
tides_text = ['Tides', 'The tide rises for about six hours. The range at springs is 4.2 m.']
write_docx('docx-word-online.docx', tides, main='word/document2.xml', target='/word/document2.xml')
gold('docx-word-online.docx', writer='written by hand, as Word Online names its parts', made=MADE, covers=['main part by _rels/.rels'],
     text=tides_text, numbers=['4.2 m'])
write_docx('docx-main-part-elsewhere.docx', tides, main='content/text.xml')
gold('docx-main-part-elsewhere.docx', writer=WRITER, made=MADE, covers=['main part by _rels/.rels'], text=tides_text, numbers=['4.2 m'])
write_docx('docx-main-part-by-type.docx', tides, main='word/document1.xml', rels=False)
gold('docx-main-part-by-type.docx', writer=WRITER, made=MADE, covers=['main part by [Content_Types].xml'], text=tides_text, numbers=['4.2 m'])
write_docx('docx-utf-16-part.docx', tides, encoding='utf-16')
gold('docx-utf-16-part.docx', writer=WRITER, made=MADE, covers=['UTF-16 with mark'], text=tides_text, numbers=['4.2 m'])

# Text boxes: the new form with the old one as fallback, the old one alone, the new one alone.
box_text = 'Never tie a bowline under load.'
box = f'<w:txbxContent>{paragraph(box_text)}</w:txbxContent>'
shape = f'<w:drawing><wp:anchor><wp:extent cx="2000000" cy="900000"/><wp:docPr id="7" name="Text Box 7"/><a:graphic><a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:wsp><wps:txbx>{box}</wps:txbx><wps:bodyPr/></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing>'
old = f'<w:pict><v:shape type="#_x0000_t202"><v:textbox>{box}</v:textbox></v:shape></w:pict>'
for file, object_, covers in [
    ('docx-text-box-with-fallback.docx', f'<mc:AlternateContent><mc:Choice Requires="wps">{shape}</mc:Choice><mc:Fallback>{old}</mc:Fallback></mc:AlternateContent>', 'text box with fallback'),
    ('docx-text-box-without-fallback.docx', f'<mc:AlternateContent><mc:Choice Requires="wps">{shape}</mc:Choice></mc:AlternateContent>', 'text box without fallback'),
    ('docx-text-box-old.docx', old, 'text box in VML'),
    ('docx-text-box-plain-drawing.docx', shape, 'text box without mc:AlternateContent'),
]:
    write_docx(file, heading('Bowline') + paragraph('The loop does not slip.', f'<w:r>{object_}</w:r>') + paragraph('It is untied by hand.'))
    gold(file, writer=WRITER, made=MADE, covers=[covers],
         text=['Bowline', 'The loop does not slip.', anywhere(box_text), 'It is untied by hand.'])

# Fields, breaks and signs.
write_docx('docx-fields-and-breaks.docx', heading('Plan') + paragraph(
    'The course begins on ', '<w:fldSimple w:instr=" DATE \\@ &quot;d MMMM&quot; "><w:r><w:t>3 May</w:t></w:r></w:fldSimple>', ' at noon.')
    + paragraph('First line', '<w:r><w:cr/></w:r>', 'second line', '<w:r><w:br/></w:r>', 'third', '<w:r><w:tab/></w:r>', 'column.')
    + paragraph('A well', '<w:r><w:noBreakHyphen/></w:r>', 'known cata', '<w:r><w:softHyphen/></w:r>', 'maran.')
    + paragraph('See page ', '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> PAGEREF knots \\h </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>', '12', '<w:r><w:fldChar w:fldCharType="end"/></w:r>', ' and ',
                '<w:hyperlink w:anchor="knots"><w:r><w:t>the chapter on knots</w:t></w:r></w:hyperlink>', '.')
    + paragraph('Turn ', '<w:r><w:sym w:font="Symbol" w:char="F062"/></w:r>', ' by 5', '<w:r><w:sym w:font="Symbol" w:char="F0B0"/></w:r>', '.')
    + paragraph('Name: ', '<w:sdt><w:sdtPr><w:text/></w:sdtPr><w:sdtContent><w:r><w:t>Ana Prado</w:t></w:r></w:sdtContent></w:sdt>', '.'))
gold('docx-fields-and-breaks.docx', writer=WRITER, made=MADE,
     covers=['w:fldSimple', 'complex field', 'w:cr', 'w:noBreakHyphen', 'w:softHyphen', 'w:sym', 'content control'],
     text=['Plan', 'The course begins on 3 May at noon.', 'First line second line third column.', 'A well-known catamaran.',
           'See page 12 and the chapter on knots.', 'Turn β by 5°.', 'Name: Ana Prado.'], numbers=['on 3 May', 'page 12', '5°'],
     absent=['PAGEREF', 'DATE'])

# Ruby above Japanese words.
def ruby(base, reading):
    return f'<w:r><w:ruby><w:rubyPr><w:rubyAlign w:val="center"/></w:rubyPr><w:rt><w:r><w:t>{reading}</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>{base}</w:t></w:r></w:rubyBase></w:ruby></w:r>'


write_docx('docx-ruby-japanese.docx', paragraph('毎朝、', ruby('港', 'みなと'), 'で', ruby('船', 'ふね'), 'を洗います。'))
gold('docx-ruby-japanese.docx', writer=WRITER, made=MADE, language='ja', covers=['ruby'], text=['毎朝、港で船を洗います。'],
     hidden=['みなと', 'ふね'])

# Hidden words, deleted words and words that were moved.
write_docx('docx-hidden-text.docx', heading('Prices') + paragraph('A lesson costs 40 euros.', run(' The margin is 12 euros.', '<w:vanish/>')))
gold('docx-hidden-text.docx', writer=WRITER, made=MADE, covers=['hidden text'], text=['Prices', 'A lesson costs 40 euros.'],
     numbers=['40 euros'], hidden=['The margin is 12 euros.'])
write_docx('docx-tracked-changes.docx', paragraph(
    'The club opens at ', '<w:del w:id="1" w:author="A"><w:r><w:delText>nine</w:delText></w:r></w:del><w:ins w:id="2" w:author="A"><w:r><w:t>ten</w:t></w:r></w:ins>', '.')
    + paragraph('<w:moveFrom w:id="3" w:author="A"><w:r><w:t>Bring a towel.</w:t></w:r></w:moveFrom>') + paragraph('The pool is heated.')
    + paragraph('<w:moveTo w:id="4" w:author="A"><w:r><w:t>Bring a towel.</w:t></w:r></w:moveTo>'))
gold('docx-tracked-changes.docx', writer=WRITER, made=MADE, covers=['tracked changes'],
     text=['The club opens at ten.', 'The pool is heated.', 'Bring a towel.'], absent=['nine'])

# Tables: merged cells, a missing cell, a table in a cell.
merged = table(
    tr(tc('Boat'), tc('Length'), tc('Rates', '<w:gridSpan w:val="2"/>')),
    tr(tc('Class', '<w:vMerge w:val="restart"/>'), tc('m'), tc('Members'), tc('Guests')),
    tr(tc('', '<w:vMerge/>'), tc('7'), tc('15'), tc('22')),
    tr(tc('Dinghy'), tc(''), tc(''), tc('9')))
write_docx('docx-merged-cells.docx', paragraph('Rates of the harbour.') + merged)
gold('docx-merged-cells.docx', writer=WRITER, made=MADE, covers=['empty cells', 'rowspan', 'colspan'],
     text=['Rates of the harbour.', 'Boat | Length | Rates', 'Class | m | Members | Guests', '7 | 15 | 22', 'Dinghy | 9'],
     cells=[cell('Members', '7', '15'), cell('Guests', '7', '22'), cell('Guests', 'Dinghy', '9'), cell('Members', 'Dinghy', '')],
     repeatable=['Class', 'Rates'])
gapped = table(tr(tc('Day'), tc('Morning'), tc('Noon'), tc('Evening')),
               f'<w:tr><w:trPr><w:gridBefore w:val="2"/></w:trPr>{tc("Swim")}{tc("Row")}</w:tr>',
               tr(tc('Friday'), tc('Sail'), tc(''), tc('Rest')))
write_docx('docx-row-starts-late.docx', gapped)
gold('docx-row-starts-late.docx', writer=WRITER, made=MADE, covers=['empty cells', 'w:gridBefore'],
     text=['Day | Morning | Noon | Evening', 'Swim | Row', 'Friday | Sail | Rest'],
     cells=[cell('Noon', 'Swim', 'Swim'), cell('Evening', 'Swim', 'Row'), cell('Evening', 'Friday', 'Rest'), cell('Noon', 'Friday', '')])
inner = table(tr(tc('Port'), tc('Red')), tr(tc('Starboard'), tc('Green')))
write_docx('docx-table-in-a-cell.docx', table(tr(tc('Sign'), tc('Meaning')), tr(tc('Lights'), tc(paragraph('Sides:') + inner + paragraph(''))), tr(tc('Horn'), tc('One blast'))))
gold('docx-table-in-a-cell.docx', writer=WRITER, made=MADE, covers=['nested table'],
     text=['Sign | Meaning', 'Lights | Sides: Port Red Starboard Green', 'Horn | One blast'], cells=[cell('Meaning', 'Horn', 'One blast')])

# The words of a diagram and of a chart are in separate parts.
points = ''.join(f'<dgm:pt modelId="{n}" type="node"><dgm:prSet/><dgm:spPr/><dgm:t><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
                 for n, text in enumerate(['Check the wind', 'Raise the sail', 'Cast off'], 1))
DIAGRAM = 'http://schemas.openxmlformats.org/drawingml/2006/diagram'
write_docx('docx-smartart.docx', heading('Leaving') + paragraph(drawing('<dgm:relIds r:dm="rId2" r:lo="rId3" r:qs="rId4" r:cs="rId5"/>', DIAGRAM)) + paragraph('Then steer.'),
           related=[('diagramData', 'diagrams/data1.xml')],
           parts={'word/diagrams/data1.xml': f'{HEAD}<dgm:dataModel {NAMES}><dgm:ptLst><dgm:pt modelId="0" type="doc"/>{points}</dgm:ptLst><dgm:cxnLst/></dgm:dataModel>'})
gold('docx-smartart.docx', writer=WRITER, made=MADE, covers=['SmartArt'],
     text=['Leaving', anywhere('Check the wind'), anywhere('Raise the sail'), anywhere('Cast off'), 'Then steer.'])
CHART = 'http://schemas.openxmlformats.org/drawingml/2006/chart'
series = ('<c:ser><c:tx><c:strRef><c:f>S!B1</c:f><c:strCache><c:pt idx="0"><c:v>Students</c:v></c:pt></c:strCache></c:strRef></c:tx>'
          '<c:cat><c:strRef><c:f>S!A2</c:f><c:strCache><c:pt idx="0"><c:v>Spring</c:v></c:pt><c:pt idx="1"><c:v>Autumn</c:v></c:pt></c:strCache></c:strRef></c:cat>'
          '<c:val><c:numRef><c:f>S!B2</c:f><c:numCache><c:pt idx="0"><c:v>31</c:v></c:pt><c:pt idx="1"><c:v>48</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>')
write_docx('docx-chart.docx', heading('Growth') + paragraph(drawing('<c:chart r:id="rId2"/>', CHART)) + paragraph('More came in autumn.'),
           related=[('chart', 'charts/chart1.xml')],
           parts={'word/charts/chart1.xml': f'{HEAD}<c:chartSpace {NAMES}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Students a season</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart>{series}</c:barChart></c:plotArea></c:chart></c:chartSpace>'})
gold('docx-chart.docx', writer=WRITER, made=MADE, covers=['chart'],
     text=['Growth', anywhere('Students a season'), anywhere('Students'), anywhere('Spring'), anywhere('31'), anywhere('Autumn'), anywhere('48'), 'More came in autumn.'],
     repeatable=['Students', 'Spring', 'Autumn'])

# Equations as Word keeps them.
def omath(inner):
    return f'<m:oMath>{inner}</m:oMath>'


def mr(text):
    return f'<m:r><m:t>{text}</m:t></m:r>'


square = f'<m:sSup><m:e>{mr("c")}</m:e><m:sup>{mr("2")}</m:sup></m:sSup>'
fraction = f'<m:f><m:num>{mr("a+b")}</m:num><m:den>{mr("2")}</m:den></m:f>'
root = f'<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/><m:e>{mr("16")}</m:e></m:rad>'
lower = f'<m:sSub><m:e>{mr("v")}</m:e><m:sub>{mr("0")}</m:sub></m:sSub>'
write_docx('docx-equations.docx', paragraph('Energy is ', omath(mr('E=m') + square), ' for a mass at rest.')
           + paragraph('The mean is ', omath(fraction), ', and ', omath(root + mr('=4')), '.') + paragraph('It starts with ', omath(lower + mr('=3')), '.'))
gold('docx-equations.docx', writer=WRITER, made=MADE, covers=['OMML'],
     text=['Energy is E=mc² for a mass at rest.', 'The mean is (a+b)/2, and √16=4.', 'It starts with v₀=3.'], numbers=['E=mc²', 'a+b)/2', '√16=4', 'v₀=3'],
     same={'(a+b)/2': ['\\frac{a+b}{2}', '{a+b}/{2}', '(a+b)/(2)'], '√16=4': ['\\sqrt{16}=4', '√(16)=4', '√{16}=4'], 'E=mc²': ['E=mc^{2}', 'E=m c²', 'E=m c^2']})

# Lists that Word numbers by itself.
levels = ''.join(f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
                 for n, (form, text) in enumerate([('decimal', '%1.'), ('lowerLetter', '%2)')]))
numbering = (f'{HEAD}<w:numbering {NAMES}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
             '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
             '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num></w:numbering>')


def item(text, number=1, level=0):
    return paragraph(text, properties=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


write_docx('docx-numbered-lists.docx', paragraph('Before you leave:') + item('Check the hull') + item('Check the sails') + item('the main', level=1) + item('the jib', level=1)
           + paragraph('Then, at the pier:') + item('Start the engine') + paragraph('At sea:') + item('Set the sails', 2) + item('Stop the engine', 2),
           related=[('numbering', 'numbering.xml')], parts={'word/numbering.xml': numbering})
gold('docx-numbered-lists.docx', writer=WRITER, made=MADE, covers=['numbered list, continued', 'numbered list, start'],
     text=['Before you leave:', '1. Check the hull', '2. Check the sails', 'a) the main', 'b) the jib', 'Then, at the pier:', '3. Start the engine', 'At sea:', '7. Set the sails', '8. Stop the engine'],
     numbers=['3. Start the engine', '7. Set the sails', '8. Stop the engine'])

# Notes, and their marks beside numbers.
notes = (f'{HEAD}<w:footnotes {NAMES}><w:footnote w:id="-1" w:type="separator"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>'
         f'<w:footnote w:id="2">{paragraph("Measured in 2024.")}</w:footnote><w:footnote w:id="3">{paragraph("Without the guests.")}</w:footnote></w:footnotes>')
mark = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="%d"/></w:r>'
write_docx('docx-footnotes.docx', paragraph('The pool holds 300', mark % 2, ' litres of 10', run('3', '<w:vertAlign w:val="superscript"/>'), ' each, for 40 members', mark % 3, '.'),
           related=[('footnotes', 'footnotes.xml')], parts={'word/footnotes.xml': notes})
gold('docx-footnotes.docx', writer=WRITER, made=MADE, covers=['footnote mark beside a number', 'superscript'],
     text=['The pool holds 300 [1] litres of 10³ each, for 40 members [2].', anywhere('1'), anywhere('Measured in 2024.'), anywhere('2'), anywhere('Without the guests.')],
     numbers=['holds 300 [1] litres', '10³'], absent=['3001', '300^1'], same={'300 [1]': ['300[1]'], 'members [2]': ['members[2]', 'members²', 'members^2']})

# The strict form of the standard uses other names.
write_docx('docx-strict.docx', tides, strict=True)
gold('docx-strict.docx', writer=WRITER, made=MADE, covers=['strict names'], text=tides_text, numbers=['4.2 m'])

# A picture in the package is encrypted. Word does not open such a file.
write_docx('docx-encrypted-part.docx', tides + paragraph(drawing('<pic:pic/>', 'http://schemas.openxmlformats.org/drawingml/2006/picture', 'A chart of the tide')), parts={'word/media/image1.png': b'\x89PNG closed bytes'})
data = bytearray(Path(path_of('docx-encrypted-part.docx')).read_bytes())
for signature, offset in [(b'PK\x03\x04', 6), (b'PK\x01\x02', 8)]:
    name = data.rindex(b'word/media/image1.png') if signature == b'PK\x01\x02' else data.index(b'word/media/image1.png')
    data[data.rindex(signature, 0, name) + offset] |= 1
Path(path_of('docx-encrypted-part.docx')).write_bytes(data)
gold('docx-encrypted-part.docx', writer=WRITER, made=MADE, covers=['encrypted part'], text=[], refused=['file_encrypted', 'file_corrupt'])
