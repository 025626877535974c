/**
 * Sends names in every script through every feature that accepts or shows a name, and reads the results with other programs. Each name must
 * arrive unchanged, in the Unicode form NFC (DEC-189).
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import ICAL from 'ical.js';
import PostalMime from 'postal-mime';
import { startMailbox, type Mailbox } from '../../dev/mailbox/mailbox.ts';
import { archiveNames, layOutZip, partsOf } from '../../domain/repositories/zip.policy.ts';
import { icalendarOf } from '../../platform/core/time/calendar.policy.ts';
import { newId } from '../../platform/core/ids.ts';
import { Secret } from '../../platform/core/secret.ts';
import { createSmtpHandOver } from '../../platform/infra/smtp/smtp-hand-over.ts';
import { sheet } from '../domain/learning/certificates/letters/sheet.ts';
import { printCertificate } from '../domain/learning/certificates/letters/printing.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { taggedTexts } from '../toolkit/assert/pdf-readers.ts';
import { askPython, whyNoPython } from '../toolkit/assert/python.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { importFile } from '../toolkit/drive/imports.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

/** Names with characters that have a meaning in a file format: quotes, separators, angle brackets, spreadsheet formulas. */
const signs = [
  'Sinéad O’Neill',
  "Niamh O'Neill",
  'Ada "Bee" Lovelace',
  'Silva, João; Neto',
  'Ana <3 & Co',
  '=1+1 Ana',
  '-Ana@@x',
  'Ana \\nEva | 100 %',
  "'; --",
  'Ana {{name}} {0}',
];
const further = [
  'Zoe\u0308 🧑🏿‍🚀',
  '👩🏽‍❤️‍💋‍👨🏻 Ana',
  '🏴󠁧󠁢󠁳󠁣󠁴󠁿 Ada 🇧🇷',
  'Ada (אדה) Lovelace',
  'محمد Ali (Knots) علي',
  'A\u030a\u0323 s\u0323\u0307',
];
const single = [...sheet.filter(({ kind }) => kind !== 'Very long').map(({ text }) => text), ...signs, ...further];
/** Each name alone, and each name followed by the next name of the list. */
const names = [...single, ...single.map((name, index) => `${name} ${single[(index * 7 + 5) % single.length] ?? ''}`)];
/**
 * Returns the stored form of a name. The same letters can be typed as several Unicode sequences, but search, keys and fonts need one form.
 */
const formOf = (name: string) => name.normalize('NFC');

describe('names in every script (DEC-189)', function () {
  this.timeout(120_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'names-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('are unchanged after a sign-up', async () => {
    const club = await buildClub();
    const source = await testDatabase();
    // Signs up with only one name of each kind, because hashing a password takes long.
    const ofEachKind = [...Map.groupBy(sheet, ({ kind }) => kind).values()].flatMap(([first]) => first?.text ?? []);
    await eachCase([...ofEachKind.filter((name) => name.length <= 100), ...signs, ...further], async (name) => {
      const email = `${newId()}@example.com`;
      const body = { name, email, password: 'correct horse battery' };
      expect((await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, { body })).status).to.equal(202);
      const rows = await source.query<object[]>(`SELECT name FROM students WHERE email = $1`, [email]);
      expect(rows).to.deep.equal([{ name: formOf(name) }]);
    });
  });

  it('are unchanged after an import from CSV, with each possible separator', async () => {
    const club = await buildClub();
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const expected = new Map<string, string>();
    for (const separator of [',', ';', '\t']) {
      const rows = names.map((name) => {
        const email = `${newId()}@example.com`;
        expected.set(email, formOf(name));
        return [email, quoted(name)].join(separator);
      });
      const file = `\ufeff${['email', 'name'].join(separator)}\r\n${rows.join('\r\n')}\r\n`;
      const { status } = await importFile(club, Buffer.from(file));
      expect(status).to.equal('completed');
    }
    const found = new Map<string, string>();
    for (let page = 1; found.size < expected.size && page < 20; page++) {
      const { data } = (await callsOf(club)('GET', `/students?page_size=100&page=${page}`)).body;
      for (const { email, name } of data) found.set(email, name);
    }
    await eachCase(expected, ([email, name]) => expect(found.get(email)).to.equal(name));
  });

  it('are unchanged in the text of a certificate, as a screen reader reads it', () =>
    eachCase([...signs, ...further], async (name) => {
      const parts = await taggedTexts(await printCertificate({ studentName: name, courseTitle: name, clubName: name }));
      expect(parts.filter(({ role, text }) => role === 'P' && text === formOf(name))).to.have.length(3);
    }));

  describe('in a mail', () => {
    let mailbox: Mailbox;
    before(async () => {
      mailbox = await startMailbox({ directory: path.join(folder, 'mails') });
      const smtp = createSmtpHandOver({ smtpUrl: new Secret(mailbox.smtpUrl), connections: 4 });
      try {
        const handed = names.map((name, index) =>
          smtp.handOver({
            envelopeFrom: 'bounces@example.com',
            from: { name, address: 'news@example.com' },
            to: 'ada@example.com',
            subject: name,
            text: name,
            html: `<p>x</p>`,
            messageId: `<${index}@example.com>`,
            headers: {},
          }),
        );
        for (const answer of await Promise.all(handed)) expect(answer.kind).to.equal('accepted');
      } finally {
        smtp.close();
        await mailbox.stop();
      }
    });
    const sources = async () => {
      const at = path.join(folder, 'mails', 'sources');
      return (await readdir(at)).map((file) => path.join(at, file));
    };

    it('are encoded in ASCII headers, and a MIME parser reads the same sender and subject', async () => {
      const read = new Set<string>();
      for (const file of await sources()) {
        const bytes = await readFile(file);
        const mail = await PostalMime.parse(bytes);
        const name = names[Number.parseInt((mail.messageId ?? '').slice(1), 10)] ?? '';
        expect({ from: mail.from, subject: mail.subject, text: mail.text?.trim() }, name).to.deep.equal({
          from: { name, address: 'news@example.com' },
          subject: name,
          text: name,
        });
        const head = bytes.subarray(0, bytes.indexOf('\r\n\r\n')).toString('latin1');
        // oxlint-disable-next-line no-control-regex -- headers must be of these characters alone
        expect(head, name).to.match(/^[\t\r\n\x20-\x7e]*$/);
        for (const line of head.split('\r\n')) expect(line.length, name).to.be.at.most(998);
        read.add(name);
      }
      expect(read.size).to.equal(new Set(names).size);
    });

    (whyNoPython === undefined ? it : it.skip)(
      'are read unchanged as sender and subject by Python’s parser',
      async () => {
        const script = `import email, email.utils, glob, json, sys
from email.header import decode_header, make_header
words = lambda text: str(make_header(decode_header(text)))
found = {}
for file in glob.glob(sys.argv[1] + '/*.eml'):
    mail = email.message_from_binary_file(open(file, 'rb'))
    sender, address = email.utils.parseaddr(mail['from'])
    found[mail['message-id'].strip('<>').split('@')[0]] = [words(sender), address, words(mail['subject'])]
print(json.dumps(found))`;
        const { stdout } = await promisify(execFile)('python3', ['-c', script, path.join(folder, 'mails', 'sources')], {
          maxBuffer: 10_000_000,
        });
        const found = new Map(Object.entries(JSON.parse(stdout) as Record<string, string[]>));
        await eachCase(names.entries(), ([index, name]) =>
          expect(found.get(String(index))).to.deep.equal([name, 'news@example.com', name]),
        );
      },
    );
  });

  (whyNoPython === undefined ? it : it.skip)(
    'are file names in a ZIP archive that Python reads, except characters that file systems refuse',
    async () => {
      const fileNames = single.map((name) => `${name}.pdf`);
      const content = Buffer.from('knot');
      const zipFiles = archiveNames(fileNames).map((name) => ({
        name,
        size: content.length,
        crc32: crc32(content),
        modifiedAt: new Date('2026-03-01T12:05:08Z'),
      }));
      const layout = layOutZip(zipFiles);
      const parts = partsOf(layout, 0, layout.size).map((part) => ('bytes' in part ? part.bytes : content));
      const file = path.join(folder, 'names.zip');
      await writeFile(file, Buffer.concat(parts));
      const read = await askPython(file, 'print(json.dumps(zipfile.ZipFile(sys.argv[1]).namelist()))');
      expect(read).to.deep.equal(fileNames.map((name) => formOf(name).replaceAll(/["<>:|\\/?*]/g, '_')));
    },
  );

  it('are unchanged in a calendar entry that a second program parses', () => {
    const at = new Date('2026-03-02T09:00:00Z');
    return eachCase(names, (name) => {
      const event = {
        method: 'REQUEST',
        id: 'x',
        sequence: 0,
        startsAt: at,
        endsAt: at,
        summary: name,
        stamp: at,
      } as const;
      const text = icalendarOf(event, 'a@example.com', 'b@example.com');
      const found = new ICAL.Component(ICAL.parse(text) as unknown[]).getFirstSubcomponent('vevent');
      expect(found && new ICAL.Event(found).summary).to.equal(name);
    });
  });

  it('are refused with 422 if they contain a line break', async () => {
    const club = await buildClub();
    const { id } = await buildStudent(club.id);
    const source = await testDatabase();
    await eachCase(['Ada\nBcc: x', 'Ada\r\nEve', 'Ada\u2028Eve', 'Ada\u0085Eve'], async (name) => {
      const email = `${newId()}@example.com`;
      const body = { name, email, password: 'correct horse battery' };
      const answer = await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, { body });
      expectError(answer, 'invalid_request');
      expect(answer.body.error.message).to.equal('name must be on one line. Remove the line break.');
      expect(await source.query(`SELECT FROM students WHERE email = $1`, [email])).to.have.length(0);
      expectError(await callsOf(club)('PATCH', `/students/${id}`, { name }), 'invalid_request');
    });
  });

  it('get a blank for each line break after an import', async () => {
    const club = await buildClub();
    const email = `${newId()}@example.com`;
    await importFile(club, `email,name\n${email},"Ada\nLovelace"\n`);
    const { data } = (await callsOf(club)('GET', '/students')).body;
    expect(data.map(({ name }: { name: string }) => name)).to.deep.equal(['Ada Lovelace']);
  });
});
