import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { completeCode, formatCode } from '../../domain/learning/certificates/code.policy.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { call, expectError, testApi, visible } from '../toolkit/drive/api.ts';
import { certificateCalls, issueCertificateByHand, type CertificateRecord } from '../toolkit/drive/certificates.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
const verify = (code: string, accept = 'application/json') =>
  call('GET', `/certificates/${code}`, { headers: { accept } });
const see = (code: string) => verify(code, browser);

/** Codes that belong to no certificate: unknown, mistyped, malformed, in whatever form a path can carry. */
const wrongCodes = (code: string) => {
  const mistyped = code.slice(0, -1) + (code.endsWith('2') ? '3' : '2');
  const swapped = completeCode(code.slice(0, 11).replace(/^(.)(.)/, (_, a: string, b: string) => b + a));
  const unknown = swapped === code ? completeCode(code.slice(1)) : swapped;
  const odd = [
    'x',
    '%20',
    '%00',
    '%ED%A0%80',
    '%E0%A4%A',
    '..%2F..',
    'a%2Fb',
    '<script>',
    '%3Cscript%3E',
    "'--",
    'no%20code',
  ];
  return [
    unknown,
    formatCode(unknown),
    mistyped,
    formatCode(mistyped),
    code.slice(1),
    `${code}2`,
    'A'.repeat(2_000),
    ...odd,
  ];
};

describe('GET /certificates/{certificateCode}', () => {
  let club: TestClub;
  let certificate: CertificateRecord;
  before(async () => {
    club = await buildClub();
    const student = await buildStudent(club.id, { name: 'Zoë Ōtsuka' });
    const course = await buildCourse(club.id, { title: 'Knots & Bends', hours: 9 });
    const source = await testDatabase();
    await source.query(`UPDATE clubs SET time_zone = 'America/Sao_Paulo' WHERE id = $1`, [club.id]);
    await source.query(
      `INSERT INTO course_completions (student_id, course_id, club_id, completed_at) VALUES ($1, $2, $3, '2026-03-02T01:15:00Z')`,
      [student.id, course.id, club.id],
    );
    certificate = await issueCertificateByHand(club, { student, courseId: course.id });
  });

  describe('200', () => {
    it('returns the certificate as JSON to programs, without id and e-mail', async () => {
      const answer = await verify(certificate.code);
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([
        200,
        'application/json; charset=utf-8',
      ]);
      expect(answer.body).to.deep.equal({
        data: {
          code: certificate.code,
          code_formatted: certificate.code_formatted,
          state: 'valid',
          student_name: 'Zoë Ōtsuka',
          course_title: 'Knots & Bends',
          club_name: certificate.club_name,
          branding: { accent_color: '#1f4fd8', links: [] },
          language: 'en',
          time_zone: 'America/Sao_Paulo',
          lesson_count: 4,
          hours: 9,
          version: 1,
          issued_at: certificate.issued_at,
          completed_at: '2026-03-02T01:15:00.000Z',
          verify_url: certificate.verify_url,
        },
      });
    });

    it('returns the same facts as HTML to browsers, with dates in the club’s time zone', async () => {
      const answer = await see(certificate.code);
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'text/html; charset=utf-8']);
      await eachCase(
        [
          '<!doctype html>\n<html lang="en" dir="ltr">',
          'This certificate is valid',
          'Zoë Ōtsuka',
          'Knots &amp; Bends',
          certificate.club_name,
          certificate.code_formatted,
          '4 lessons · 9 hours',
          '>1 March 2026</time>',
        ],
        (part) => expect(answer.text).to.include(part),
      );
      expect(answer.text).to.not.include(certificate.student_email).and.to.not.include(certificate.student_id);
    });

    it('is returned, as JSON and as HTML, for any spelling of the code', async () => {
      const { code, code_formatted: printed } = certificate;
      const spellings = [
        printed,
        code.toLowerCase(),
        printed.toLowerCase(),
        printed.replaceAll('-', '%20'),
        `%20${printed}%20`,
      ];
      for (const ask of [verify, see]) {
        const expected = visible(await ask(code));
        for (const spelling of spellings) expect(visible(await ask(spelling)), spelling).to.equal(expected);
      }
    });

    it('returns HTML only to clients that prefer HTML to JSON, and sends the header Vary', async () => {
      const types: Record<string, string> = {
        'text/html': 'text/html',
        'text/*': 'text/html',
        [browser]: 'text/html',
        'application/json;q=0.5, text/html': 'text/html',
        'application/json': 'application/json',
        'text/html;q=0.5, application/json': 'application/json',
        '*/*': 'application/json',
        'image/png': 'application/json',
      };
      await eachCase(Object.entries(types), async ([accept, type]) => {
        const { headers } = await verify(certificate.code, accept);
        expect(headers.get('content-type')).to.equal(`${type}; charset=utf-8`);
        expect(headers.get('vary')).to.match(/\bAccept\b/);
      });
    });

    it('answers HEAD with the headers of GET and no body', async () => {
      const { port } = await testApi();
      const head = (accept: string) =>
        new Promise<{
          status: number | undefined;
          type: string | undefined;
          length: string | undefined;
          bytes: number;
        }>((resolve, reject) => {
          const path = `/certificates/${certificate.code}`;
          request({ port, host: '127.0.0.1', method: 'HEAD', path, headers: { accept } }, (response) => {
            let bytes = 0;
            const { 'content-type': type, 'content-length': length } = response.headers;
            response.on('data', (chunk: Buffer) => (bytes += chunk.length));
            response.on('end', () => resolve({ status: response.statusCode, type, length, bytes }));
          })
            .on('error', reject)
            .end();
        });
      await eachCase(['application/json', 'text/html'], async (accept) => {
        const { bytes } = await verify(certificate.code, accept);
        expect(await head(accept)).to.deep.equal({
          status: 200,
          type: `${accept}; charset=utf-8`,
          length: String(bytes.length),
          bytes: 0,
        });
      });
    });

    it('ignores unknown query parameters of an HTML request, but refuses a JSON request with 400', async () => {
      expect(visible(await see(`${certificate.code}?utm_source=mail&fbclid=1`))).to.equal(
        visible(await see(certificate.code)),
      );
      expectError(await verify(`${certificate.code}?utm_source=mail`), 'malformed_request');
    });

    it('needs no session, and ignores a session that the caller sends', async () => {
      const answer = await call('GET', `/certificates/${certificate.code}`, { token: 'no-token-of-ours' });
      expect(answer.status).to.equal(200);
    });
  });

  describe('the HTML page', () => {
    it('allows only its own styles, and forbids scripts, forms, frames and resources of other hosts', async () => {
      const { headers, text } = await see(certificate.code);
      const [, style = ''] = /<style>([^]*)<\/style>/.exec(text) ?? [];
      const hash = createHash('sha256').update(style).digest('base64');
      expect(headers.get('content-security-policy')).to.equal(
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      );
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(text).to.not.match(/<script|<link|<img|<form|<iframe|style=|\son\w+=|https?:/i);
      expect(text).to.include('<meta name="robots" content="noindex">').and.to.include('@media print');
      expect(text).to.include('<meta name="viewport" content="width=device-width, initial-scale=1">');
    });

    it('escapes markup, quotes and ampersands in names', async () => {
      const hostile = `<script>alert(1)</script><img src=x onerror="alert('2')">&amp;`;
      const escaped =
        '&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;2&#39;)&quot;&gt;&amp;amp;';
      const student = await buildStudent(club.id, { name: hostile });
      const course = await buildCourse(club.id, { title: `${hostile}</style></title>` });
      const { code } = await issueCertificateByHand(club, { student, courseId: course.id });
      const { text } = await see(code);
      expect(text.split(escaped)).to.have.length(3);
      expect(text).to.not.match(/<script|<img/i);
      expect(text.match(/<\/style>/g)).to.have.length(1);
      expect((await verify(code)).body.data.student_name).to.equal(hostile);
    });
  });

  it('shows the time of a revocation but not the reason, and shows a reissued certificate as valid', async () => {
    const { id, code } = await issueCertificateByHand(club);
    const revoked = (await certificateCalls(club, id).revoke('A secret reason.')).body.data;
    const { body } = await verify(code);
    expect(body.data).to.include({ state: 'revoked', revoked_at: revoked.revoked_at, student_name: 'Stella Student' });
    const page = await see(code);
    expect([page.status, page.text]).to.satisfy(
      ([status, text]: [number, string]) => status === 200 && text.includes('was revoked'),
    );
    await eachCase([await verify(code), page], ({ text }) =>
      expect(text).to.not.include('secret').and.to.not.include('is valid'),
    );
    await certificateCalls(club, id).reissue();
    const again = (await verify(code)).body.data;
    expect(again).to.include({ state: 'valid', version: 2 }).and.to.not.have.property('revoked_at');
  });

  describe('404', () => {
    it('returns the same bytes of JSON for unknown, mistyped and malformed codes', async () => {
      const answers = new Set<string>();
      await eachCase(wrongCodes(certificate.code), async (code) => {
        const answer = await verify(code);
        expectError(answer, 'not_found');
        answers.add(visible(answer));
      });
      expect([...answers]).to.have.length(1);
    });

    it('returns the same bytes of HTML, without the code, for unknown, mistyped and malformed codes', async () => {
      const answers = new Set<string>();
      for (const code of wrongCodes(certificate.code)) {
        const answer = await see(code);
        expect([answer.status, answer.headers.get('content-type')], code).to.deep.equal([
          404,
          'text/html; charset=utf-8',
        ]);
        answers.add(visible(answer));
      }
      expect([...answers]).to.have.length(1);
      expect([...answers][0])
        .to.include('No such certificate')
        .and.to.include("default-src 'none'");
    });
  });
});
