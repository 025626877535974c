"""Writes a file of the gold set and, beside it, what a person reads on it. ../README.md says what each field means."""
import json
import os
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
KINDS = {'.docx': 'docx', '.pptx': 'pptx', '.pdf': 'pdf', '.html': 'html', '.md': 'markdown', '.txt': 'plain', '.csv': 'csv'}
TYPES = {
    'docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    'pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    'pdf': 'application/pdf', 'html': 'text/html', 'markdown': 'text/markdown', 'lesson': None,
    'plain': 'text/plain', 'csv': 'text/csv',
}


def path_of(file):
    return str(FOLDER / 'files' / file)


def anywhere(text):
    return {'text': text, 'anywhere': True}


def unreadable(text, why, page=None):
    return {'text': text, 'unreadable': why, **({} if page is None else {'page': page})}


def rows(table):
    """The rows of a table as blocks of the gold text."""
    return [' | '.join(row) for row in table]


def cells(table, *places, head=0):
    """The values at these (row, column) places, each with its header and the first cell of its row. All, if none is named."""
    places = places or [(r, c) for r in range(head + 1, len(table)) for c in range(1, len(table[0]))]
    return [{'column': table[head][c], 'row': table[r][0], 'value': table[r][c]} for r, c in places]


def cell(column, row, value):
    return {'column': column, 'row': row, 'value': value}


def gold(file, *, writer, made, text, covers, language='en', kind=None, says='by kind', numbers=(), cells=(), repeatable=(),
         hidden=(), absent=(), same=None, refused=()):
    columns = {one['column'] for one in cells}
    lines = [(block if isinstance(block, str) else block['text']).split(' | ') for block in text]
    headers = [one for line in lines if columns & set(line) for one in line]
    kind = kind or ('lesson' if file.startswith('lesson-') else KINDS[Path(file).suffix])
    known = {
        'file': file, 'kind': kind, 'says': TYPES[kind] if says == 'by kind' else says, 'language': language, 'writer': writer,
        'made': f'make/{os.path.basename(made)}', 'covers': list(covers),
        'text': [{'text': block} if isinstance(block, str) else block for block in text],
        'numbers': list(numbers), 'cells': list(cells),
        'repeatable': list(dict.fromkeys([one for one in headers if one] + list(repeatable))),
        'hidden': list(hidden), 'absent': list(absent), 'same': same or {}, 'refused': list(refused),
    }
    assert os.path.exists(path_of(file)), file
    with open(FOLDER / 'texts' / f'{file}.json', 'w', encoding='utf-8') as out:
        out.write(json.dumps(known, ensure_ascii=False, indent=2) + '\n')


def write(file, content, encoding='utf-8'):
    """Writes text or bytes as they are."""
    data = content if isinstance(content, bytes) else content.encode(encoding)
    with open(path_of(file), 'wb') as out:
        out.write(data)


def write_zip(file, parts):
    """Writes a package whose parts are texts or bytes. Each has the same date, so that the file is the same each time."""
    with zipfile.ZipFile(path_of(file), 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
