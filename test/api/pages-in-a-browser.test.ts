/** Tests pages in a real browser with their content security policies: the reference, the unsubscribe link, mails and previews. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { prepareLayout } from '../../domain/community/digests/layout.ts';
import { offeredLanguages } from '../../domain/language/languages.ts';
import { wordingIn } from '../../domain/language/wording.ts';
import { renderMail } from '../../domain/mail/texts/rendering.ts';
import { unsubscribeToken } from '../../domain/mail/suppressions/unsubscribe-link.ts';
import { mailTemplateNames } from '../../entities/mail/values.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { testApi } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { overhang, useBrowser, widths } from '../toolkit/stack/browser.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

describe('pages in a browser', function () {
  this.timeout(60_000);
  const openPage = useBrowser();

  /** @returns the links and buttons that the page does not show, or shows only partly, on the screen */
  const outOfSight = async (
    within: Pick<Page, 'getByRole'>,
    names: readonly string[],
    width: number = widths.phone,
  ): Promise<string[]> => {
    const found: string[] = [];
    for (const name of names) {
      const box = await within.getByRole('link', { name }).or(within.getByRole('button', { name })).boundingBox();
      if (!box || box.width < 40 || box.height < 10 || box.x < 0 || box.x + box.width > width) found.push(name);
    }
    return found;
  };

  it('fit into the screen even if a mail contains very long words (MENT-11)', async () => {
    const link = 'https://harbour.example.com/mentorships/sessions/01900001-0000-7000-8000-000000000001';
    const context = { endpointUrl: '', lessonTitle: '', code: '', link, name: 'Ada', clubName: 'Harbour' };
    const long = 'Donaudampfschiff'.repeat(12);
    const startsAt = new Date('2026-09-23T12:00:00Z');
    const timeZone = 'America/Argentina/ComodRivadavia';
    const session = { title: long, startsAt, timeZone, withWhom: long, reason: long };
    for (const width of Object.values(widths)) {
      const page = await openPage(width);
      for (const language of offeredLanguages)
        for (const template of mailTemplateNames.filter((name) => name.startsWith('mentorship_'))) {
          await page.setContent(renderMail(template, { ...context, session }, wordingIn(language)).html);
          expect(await overhang(page), `${template} in ${language} at ${width}`).to.equal(0);
          const button = page.getByRole('link');
          expect(await button.getAttribute('href')).to.equal(link);
          expect(await outOfSight(page, [await button.innerText()], width), template).to.deep.equal([]);
        }
    }
  });

  describe('API reference', () => {
    for (const [name, width] of Object.entries(widths)) {
      it(`shows topics on the first screen of a ${name}, and the conventions after a click`, async () => {
        const page = await openPage(width);
        const { port } = await testApi();
        await page.goto(`http://127.0.0.1:${port}/docs`);
        await page.getByRole('heading', { name: 'Student sessions' }).waitFor({ timeout: 30_000 });
        const conventions = page.locator('.info details');
        const envelope = conventions.getByText('Every error has the envelope');
        const lastTopic = await page.locator('.opblock-tag').nth(3).boundingBox();
        expect(lastTopic?.y).to.be.below(page.viewportSize()?.height ?? 0);
        expect(await envelope.isVisible()).to.equal(false);
        await conventions.getByText('Conventions', { exact: true }).click();
        expect(await envelope.isVisible()).to.equal(true);
        expect(await overhang(page)).to.equal(0);
      });
    }
  });

  describe('policies of pages', () => {
    /** Lists the requests and scripts that the browser blocked. */
    const refusals = (page: Page): string[] => {
      const messages: string[] = [];
      page.on('console', (message) => {
        if (/content security policy|refused to|blocked/i.test(message.text())) messages.push(message.text());
      });
      page.on('requestfailed', (request) => messages.push(`${request.url()} ${request.failure()?.errorText}`));
      return messages;
    };

    it('let the API reference show an operation, and block nothing on its page', async () => {
      const page = await openPage(widths.laptop);
      const messages = refusals(page);
      const { port } = await testApi();
      await page.goto(`http://127.0.0.1:${port}/docs`);
      await page.locator('.opblock-tag').first().click({ timeout: 30_000 });
      await page.locator('.opblock-summary-path').first().click();
      await page.locator('.opblock.is-open').getByText('Responses').first().waitFor();
      expect(messages).to.deep.equal([]);
    });

    it('let the certificate page load its styles, and block nothing on its page', async () => {
      const page = await openPage(widths.phone);
      const messages = refusals(page);
      const { port } = await testApi();
      const answer = await page.goto(`http://127.0.0.1:${port}/certificates/AAAABBBBCCCC`);
      expect(answer?.status()).to.equal(404);
      const style = await page.evaluate<string>(`getComputedStyle(document.querySelector('main')).maxWidth`);
      expect(style).to.not.equal('none');
      expect(messages.filter((text) => !text.includes('404'))).to.deep.equal([]);
    });

    it('let a browser show a JSON answer', async () => {
      const page = await openPage(widths.phone);
      const { port } = await testApi();
      await page.goto(`http://127.0.0.1:${port}/v1/nothing`);
      expect(await page.locator('body').innerText()).to.contain('not_found');
    });
  });

  describe('the unsubscribe link (CAMP-5)', () => {
    let club: TestClub;
    let address: string;
    beforeEach(async () => {
      const { vault } = await testDeps();
      club = await buildClub();
      const { id: studentId } = await buildStudent(club.id);
      const { port } = await testApi();
      const token = unsubscribeToken(vault, { kind: 'campaigns', studentId });
      address = `http://127.0.0.1:${port}/v1/clubs/${club.id}/classroom/mail/unsubscribe/${token}`;
    });
    const suppressions = async () => {
      const source = await testDatabase();
      return source.query(`SELECT left_campaigns_at IS NOT NULL AS left FROM mail_suppressions WHERE club_id = $1`, [
        club.id,
      ]);
    };

    it('changes nothing until one click unsubscribes, and another click resubscribes', async () => {
      const page = await openPage(widths.phone);
      await page.goto(address);
      expect(await page.title()).to.equal('Unsubscribe?');
      expect(await overhang(page)).to.equal(0);
      expect(await outOfSight(page, ['Stop news'])).to.deep.equal([]);
      expect(await suppressions()).to.deep.equal([]);
      await page.getByRole('button', { name: 'Stop news' }).click();
      await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
      expect(await suppressions()).to.deep.equal([{ left: true }]);
      await page.getByRole('button', { name: 'Subscribe again' }).click();
      await page.getByRole('heading', { name: 'You are subscribed again' }).waitFor();
      expect(await suppressions()).to.deep.equal([]);
      expect(await overhang(page)).to.equal(0);
    });

    it('opens a page that links to the page for automatic messages, and loads nothing else', async () => {
      const page = await openPage(widths.laptop);
      const methods: string[] = [];
      page.on('request', (request) => methods.push(request.method()));
      await page.goto(address);
      await page.getByRole('link', { name: 'You get automatic messages' }).click();
      await page.getByRole('button', { name: 'Stop automatic messages' }).click();
      await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
      expect(methods).to.deep.equal(['GET', 'GET', 'POST']);
    });
  });

  describe('a mail and its preview (CAMP-46)', () => {
    const words = 'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen';
    const content = {
      subject: `The spring regatta, {{student_first_name|there}}: ${words}`,
      preheader: `Boats, knots and ${words}`,
      blocks: [
        { kind: 'heading', level: 1, text: `Ahoy {{student_name|there}}: ${words}` },
        { kind: 'text', text: `See [the course](https://example.com/course) and\n\n- https://example.com/${words}` },
        { kind: 'button', text: 'Take part', url: 'https://example.com/regatta' },
        { kind: 'button', text: `Read all about ${words} before it begins`, url: 'https://example.com/all' },
      ],
    };
    const buttons = ['Take part', 'Read all about'];
    let preview: { html: string; page_url: string };
    before('write a campaign', async () => {
      const club = await buildClub();
      const send = callsOf(club);
      const picture = await buildMedia(club.id, { bytes: png(1_600, 400) });
      await (
        await testDatabase()
      ).query(`UPDATE media SET kind = 'image', mime = 'image/png' WHERE id = $1`, [picture.id]);
      await send('PUT', '/mail/sender', { from_name: 'Knots & Co', postal_address: 'Quay 1\nHarbour' });
      const { id: studentId } = await buildStudent(club.id, {
        name: 'שרה 🎉 Example-With-A-Very-Long-Name-That-Never-Breaks',
      });
      const blocks = [...content.blocks, { kind: 'image', media_id: picture.id, alt: 'A boat' }];
      const { id } = (await send('POST', '/campaigns', { name: 'Regatta', content: { ...content, blocks } })).body.data;
      preview = (await send('GET', `/campaigns/${id}/preview?student_id=${studentId}`)).body.data;
      const { port } = await testApi();
      preview.page_url = `http://127.0.0.1:${port}${new URL(preview.page_url).pathname}`;
    });

    const pictureIn = async (frame: Pick<Page, 'locator'>) => {
      const image = frame.locator('img[alt="A boat"]');
      const box = await image.boundingBox();
      return {
        loaded: await image.evaluate((node) => (node as unknown as { naturalWidth: number }).naturalWidth),
        box,
      };
    };

    for (const width of Object.values(widths)) {
      it(`fits into ${width} px, and shows every button`, async () => {
        const page = await openPage(width);
        await page.setContent(preview.html);
        expect(await overhang(page)).to.equal(0);
        expect(await outOfSight(page, [...buttons, 'the course', 'Unsubscribe'], width)).to.deep.equal([]);
        const { loaded, box } = await pictureIn(page);
        expect(loaded).to.equal(1_600);
        expect(box?.width).to.be.within(100, width);
      });

      it(`shows subject, preheader, mail and plain text in the preview at ${width} px`, async () => {
        const page = await openPage(width);
        await page.goto(preview.page_url);
        const frame = page.frameLocator('iframe').first();
        expect(await overhang(page)).to.equal(0);
        expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal(`The spring regatta, שרה: ${words}`);
        expect(await page.locator('.preheader').innerText()).to.equal(content.preheader);
        expect(await outOfSight(frame, buttons, width)).to.deep.equal([]);
        expect((await pictureIn(frame)).loaded).to.equal(1_600);
        expect(await page.locator('pre').isVisible()).to.equal(false);
        await page.getByText('Plain text').click();
        expect(await page.locator('pre').innerText()).to.contain('Take part: https://example.com/regatta');
        expect(await overhang(page)).to.equal(0);
        expect(await page.locator('iframe.phone').isVisible()).to.equal(width === widths.laptop);
      });
    }

    it('opens links of the preview in a new page, except the unsubscribe link', async () => {
      const page = await openPage(widths.phone);
      const requests: string[] = [];
      page
        .context()
        .on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
      await page.goto(preview.page_url);
      const frame = page.frameLocator('iframe').first();
      await frame.getByRole('link', { name: 'the course' }).waitFor();
      requests.splice(0);
      await frame.getByRole('link', { name: 'Unsubscribe' }).click({ timeout: 5_000 });
      expect(requests).to.deep.equal([]);
      const opened = page.waitForEvent('popup');
      await frame.getByRole('link', { name: 'the course' }).click({ timeout: 5_000 });
      await opened;
      expect(requests).to.deep.equal(['GET /course']);
      expect(page.url()).to.equal(preview.page_url);
    });
  });

  describe('the daily mail about new posts in spaces (COMM-18)', () => {
    const word = 'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen'.repeat(3);
    const post = (title: string | null) => ({
      id: 'p',
      publicId: 'p',
      title,
      body: `**${word}** and <script>document.title = 'run'</script>`,
      author: word,
      at: new Date('2026-03-02T06:20:00Z'),
    });
    for (const width of Object.values(widths))
      it(`fits into ${width} px, and shows every link`, async () => {
        const layout = await prepareLayout();
        const spaces = [
          { id: 's', name: `The Quay ${word}`, count: 9, posts: [post('The bowline holds'), post(word), post(null)] },
        ];
        const { html } = layout({
          news: { spaces, moreSpaces: 2 },
          clubName: 'Knots & Co',
          letterhead: { clubName: 'Knots & Co', postalAddress: `Quay 1\n${word}`, language: 'en' },
          classroom: 'https://knots.classroom.example',
          timeZone: 'Europe/Berlin',
          unsubscribeUrl: 'https://api.example/unsubscribe',
        });
        const page = await openPage(width);
        await page.setContent(html);
        expect(await overhang(page)).to.equal(0);
        const links = ['The Quay', 'The bowline holds', '6 more new posts', 'Unsubscribe'];
        expect(await outOfSight(page, links, width)).to.deep.equal([]);
        expect(await page.getByRole('heading').allInnerTexts()).to.deep.equal([
          '9 new posts at Knots & Co',
          `The Quay ${word}`,
        ]);
        expect(await page.title()).to.not.equal('run');
      });
  });
});
