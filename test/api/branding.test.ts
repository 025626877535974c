import { expect } from 'chai';
import { previewPage } from '../../api/pages/preview.ts';
import { unsubscribeToken } from '../../domain/mail/suppressions/unsubscribe-link.ts';
import { clubMailTemplates, variablesOf } from '../../domain/mail/texts/own-text.ts';
import { offeredLanguages } from '../../domain/language/languages.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildLogo, logoPixels } from '../toolkit/builders/logos.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { call as request, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { certificateCalls, issueCertificateByHand } from '../toolkit/drive/certificates.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';

describe('a club’s branding (DEC-184)', () => {
  let club: TestClub;
  let call: ReturnType<typeof callsOf>;
  beforeEach(async () => {
    club = await buildClub({ language: 'pt-BR' });
    call = callsOf(club);
  });
  const set = (body: Record<string, unknown>) => call('PUT', '/branding', body);
  const wayOutPage = async () => {
    const { vault } = await testDeps();
    const { id } = await buildStudent(club.id);
    const token = unsubscribeToken(vault, { kind: 'campaigns', studentId: id });
    return request('GET', `/v1/clubs/${club.id}/classroom/mail/unsubscribe/${token}`, {
      headers: { accept: 'text/html' },
    });
  };
  const logo = async (more: Record<string, unknown> = {}): Promise<Id> => {
    const { id } = await buildMedia(club.id, { title: 'Logo.png' });
    await alter('media', id, { kind: 'image', mime: 'image/png', visibility: 'public', status: 'ready', ...more });
    return id;
  };

  it('has the standard values if the club is new', async () => {
    expect((await call('GET', '/branding')).body.data).to.deep.equal({ accent_color: '#1f4fd8', links: [] });
  });

  it('is replaced as a whole by each change', async () => {
    const logoId = await logo();
    const full = {
      logo_media_id: logoId,
      accent_color: '#0B6E4F',
      reply_to: 'crew@knots.example',
      legal_footer: 'Knots Ltda.\r\nCNPJ 1',
      links: [{ label: 'Privacidade', url: 'https://knots.example/p?a=1&b=2' }],
    };
    const { body } = await set(full);
    const { updated_at: updatedAt, logo_url: logoUrl, warnings: _, ...rest } = body.data;
    expect(rest).to.deep.equal({ ...full, accent_color: '#0b6e4f', legal_footer: 'Knots Ltda.\nCNPJ 1' });
    expect(logoUrl).to.match(new RegExp(`/public/media/${logoId}/preview$`));
    expect(Date.parse(updatedAt)).to.be.closeTo(Date.now(), 60_000);
    expect((await set({})).body.data)
      .to.include({ accent_color: '#1f4fd8' })
      .and.to.not.have.property('legal_footer');
  });

  it('appears on pages that may load only the logo', async () => {
    const page = await wayOutPage();
    expect(page.text).to.contain('--accent:#1f4fd8').and.to.not.contain('<img');
    await set({
      logo_media_id: await logo(),
      accent_color: '#0b6e4f',
      legal_footer: 'Knots & "Ltda."',
      links: [{ label: 'A & B', url: 'https://knots.example/?a=1&b=2' }],
    });
    const branded = await wayOutPage();
    expect(branded.text).to.contain('--accent:#0b6e4f').and.to.contain('Knots &amp; &quot;Ltda.&quot;');
    expect(branded.text).to.contain('<a href="https://knots.example/?a=1&amp;b=2">A &amp; B</a>');
    expect(branded.text.match(/<img /g)).to.have.length(1);
    expect(branded.headers.get('content-security-policy')).to.contain('img-src http: https:');
    expect(page.headers.get('content-security-policy')).to.not.contain('img-src');
  });

  it('colours all certificates, even those issued before the change', async () => {
    const { id } = await issueCertificateByHand(club);
    const print = async () => (await certificateCalls(club, id).print()).bytes;
    const standard = await print();
    await set({ accent_color: '#0b6e4f' });
    const green = await print();
    expect(green.equals(standard)).to.equal(false);
    expect((await print()).equals(green)).to.equal(true);
    await set({ accent_color: '#7a1f5c' });
    expect((await print()).equals(green)).to.equal(false);
  });

  it('allows the preview page to load the logo, even if its address redirects to the object store', () => {
    const policy = (html: string) => {
      const { contentSecurityPolicy } = previewPage;
      return typeof contentSecurityPolicy === 'string' ? '' : contentSecurityPolicy({ data: { html } } as never);
    };
    expect(policy('<img src="https://api.example.com/public/media/x/preview">')).to.contain('img-src http: https:;');
    expect(policy('<img src="https://store.example.com/x?y">')).to.contain('img-src https://store.example.com;');
    expect(policy('<p>No image</p>')).to.not.contain('img-src');
  });

  it('prevents the deletion of the logo file, and is listed as its use', async () => {
    const id = await logo();
    await set({ logo_media_id: id });
    expectError(await call('DELETE', `/media/${id}`), 'in_use');
    expect((await call('GET', `/media/${id}/usage`)).body.data).to.have.length(1);
    await set({});
    expect((await call('GET', `/media/${id}/usage`)).body.data).to.deep.equal([]);
  });

  it('has a warning if a public logo cannot be printed, but has no warning if the logo is private', async () => {
    const id = await logo();
    expect((await set({ logo_media_id: id })).body.data.warnings).to.deep.equal([{ code: 'logo_not_printable' }]);
    await alter('media', id, { visibility: 'private' });
    expect((await call('GET', '/branding')).body.data).to.not.have.property('warnings');
    expect((await set({ logo_media_id: await buildLogo(club, await logoPixels(40, 40).png().toBuffer()) })).body.data)
      .to.have.property('logo_url')
      .and.to.be.a('string');
    expect((await call('GET', '/branding')).body.data).to.not.have.property('warnings');
  });

  it('omits the logo while its file is not public', async () => {
    const id = await logo();
    await set({ logo_media_id: id });
    await alter('media', id, { visibility: 'private' });
    expect((await call('GET', '/branding')).body.data).to.not.have.property('logo_url');
  });

  describe('422', () => {
    it('is returned with invalid_file for a logo that is not a ready, public image of the library', async () => {
      const other = await buildClub();
      const { id: foreign } = await buildMedia(other.id, { title: 'Logo.png' });
      await alter('media', foreign, { kind: 'image', mime: 'image/png', visibility: 'public' });
      const before = await rowCounts();
      for (const id of [
        newId(),
        foreign,
        await logo({ visibility: 'private' }),
        await logo({ status: 'processing' }),
        await logo({ kind: 'document', mime: 'application/pdf' }),
        await logo({ archived: true }),
      ])
        expectError(await set({ logo_media_id: id }), 'invalid_file');
      expect((await call('GET', '/branding')).body.data).to.not.have.property('updated_at');
      expect((await rowCounts())['club_branding']).to.equal(before['club_branding']);
    });

    for (const [color, isReadable] of [
      ['#000000', true],
      ['#767676', true],
      ['#777777', false],
      ['#ffffff', false],
      ['#ff0000', false],
      ['#d00000', true],
    ] as const)
      it(`is ${isReadable ? 'not ' : ''}returned for the colour ${color}`, async () => {
        const answer = await set({ accent_color: color });
        if (isReadable) expect(answer.status).to.equal(200);
        else {
          expectError(answer, 'invalid_request');
          expect(answer.body.error.message).to.contain(color).and.to.contain('4.5 : 1');
        }
      });

    for (const [title, body] of [
      ['a colour name instead of a code', { accent_color: 'green' }],
      ['a link without https', { links: [{ label: 'x', url: 'http://knots.example' }] }],
      ['a javascript link', { links: [{ label: 'x', url: 'javascript:alert(1)' }] }],
      ['six links', { links: Array.from({ length: 6 }, () => ({ label: 'x', url: 'https://x.example' })) }],
      ['a footer with characters that change the text direction', { legal_footer: 'a\u202Eb' }],
      ['a footer that is too long', { legal_footer: 'x'.repeat(1_001) }],
      ['an invalid reply address', { reply_to: 'nobody' }],
    ] as const)
      it(`is returned for ${title}`, async () => {
        expectError(await set(body), 'invalid_request');
        expect((await call('GET', '/branding')).body.data).to.not.have.property('updated_at');
      });
  });

  describe('texts of mails', () => {
    const at = (template = 'student_invitation', language = 'pt-BR') => `/mail/texts/${template}/${language}`;

    it('are listed with the languages of the club’s own texts', async () => {
      await call('PUT', at(), { subject: 'Oi', text: '{{link}}' });
      const { texts } = (await call('GET', '/mail/texts')).body.data;
      expect(texts.map(({ template }: { template: string }) => template)).to.deep.equal(clubMailTemplates);
      expect(texts.filter(({ languages }: { languages: string[] }) => languages.length > 0)).to.deep.equal([
        { template: 'student_invitation', languages: ['pt-BR'] },
      ]);
    });

    it('have a preview in every language, with every variable replaced', async () => {
      for (const template of clubMailTemplates)
        for (const language of offeredLanguages) {
          const { data } = (await call('GET', at(template, language))).body;
          expect(data, `${template} ${language}`).to.include({ template, language, is_own: false });
          expect(data.variables).to.deep.equal(variablesOf(template));
          expect(data.preview.html).to.contain(`lang="${language}"`);
          expect(`${data.preview.subject}${data.preview.text}${data.preview.html}`).to.not.match(
            /\{\{|\}\}|undefined|null/,
          );
        }
    });

    it('have a standard text that the club can store unchanged', async () => {
      for (const template of clubMailTemplates) {
        const { standard, preview } = (await call('GET', at(template, 'de'))).body.data;
        const answer = await call('PUT', at(template, 'de'), standard);
        expect(answer.status, `${template}: ${JSON.stringify(answer.body)}`).to.equal(200);
        expect(answer.body.data.preview.subject, template).to.equal(preview.subject);
      }
    });

    it('escape the values of variables, and show the link as a button or inside a sentence', async () => {
      await set({ accent_color: '#0b6e4f', legal_footer: 'Ltda.' });
      const own = {
        subject: '{{club}}: oi {{name|você}}',
        text: 'Oi {{name}} & "tu"!\n\nVeja {{link}} já.\n\n{{link}}',
        action: 'Entrar já',
      };
      const { data } = (await call('PUT', at(), own)).body;
      expect(data.is_own).to.equal(true);
      expect(data.own).to.deep.equal(own);
      expect(data.preview.subject).to.match(/: oi Ana$/);
      expect(data.preview.text).to.equal(
        'Oi Ana & "tu"!\n\nVeja https://classroom.example.com/ já.\n\nEntrar já: https://classroom.example.com/\n\nLtda.\n',
      );
      expect(data.preview.html).to.contain('Oi Ana &amp; &quot;tu&quot;!').and.to.contain('background:#0b6e4f');
      expect(data.preview.html.match(/href="https:\/\/classroom\.example\.com\/"/g)).to.have.length(2);
    });

    it('show the reason of a cancelation, and have no empty paragraph if there is no reason', async () => {
      const { standard } = (await call('GET', at('mentorship_canceled', 'ar'))).body.data;
      expect(standard.text)
        .to.contain('{{reason}}')
        .and.to.not.match(/[\u2068\u2069]/);
      const { preview } = (await call('PUT', at('mentorship_canceled', 'ar'), standard)).body.data;
      expect(preview.text).to.not.match(/\n{3}/);
    });

    it('become the standard text again after the club’s text is deleted', async () => {
      await call('PUT', at(), { subject: 'Oi', text: '{{link}}' });
      const { data } = (await call('DELETE', at())).body;
      expect(data.is_own).to.equal(false);
      expect((await call('DELETE', at())).status).to.equal(200);
    });

    for (const [title, template, body, message] of [
      ['lacks the link', 'student_invitation', { subject: 'x', text: 'Oi' }, 'text: {{link}} is missing'],
      ['lacks the code', 'student_code', { subject: '{{code}}', text: 'Oi' }, 'text: {{code}} is missing'],
      [
        'has the link in the subject',
        'student_invitation',
        { subject: '{{link}}', text: '{{link}}' },
        'subject: There is no variable {{link}}',
      ],
      [
        'names an unknown variable',
        'student_invitation',
        { subject: 'x', text: '{{link}} {{session}}' },
        'text: There is no variable {{session}}',
      ],
      [
        'does not close a variable',
        'student_invitation',
        { subject: 'x', text: '{{link}} {{name' },
        'text: A variable starts with',
      ],
      ['is too long', 'student_invitation', { subject: 'x', text: `{{link}}${'x'.repeat(5_000)}` }, 'text'],
      ['has a subject of two lines', 'student_invitation', { subject: 'x\ny', text: '{{link}}' }, 'subject'],
    ] as const)
      it(`are not changed by a template that ${title} (422)`, async () => {
        const answer = await call('PUT', at(template), body);
        expectError(answer, 'invalid_request');
        expect(answer.body.error.message).to.contain(message);
        expect((await call('GET', at(template))).body.data.is_own).to.equal(false);
      });

    it('cannot be changed in a language that is not offered, or for an unknown kind of mail', async () => {
      expectError(
        await call('PUT', at('student_invitation', 'fr'), { subject: 'x', text: '{{link}}' }),
        'invalid_request',
      );
      const { status } = await call('GET', at('administrator_verify_email'));
      expect(status).to.be.oneOf([400, 422]);
    });
  });
});
