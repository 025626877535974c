/** What people see of mails, in a real browser: the way out, and the mail itself. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { wayOutToken } from '../../domain/mail/way-out.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { testApi } from '../toolkit/drive/api.ts';
import { overhang, useBrowser, widths } from '../toolkit/stack/browser.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

describe('pages in a browser', function () {
  this.timeout(60_000);
  const openPage = useBrowser();

  /** @returns for each, how many CSS pixels of it can be seen beside the screen or are not drawn; nothing where all is well */
  const outOfSight = async (page: Page, names: readonly string[]) => {
    const found: string[] = [];
    for (const name of names) {
      const box = await page.getByRole('link', { name }).or(page.getByRole('button', { name })).boundingBox();
      const width = page.viewportSize()?.width ?? 0;
      if (!box || box.width < 40 || box.height < 10 || box.x < 0 || box.x + box.width > width) found.push(name);
    }
    return found;
  };

  describe('the way out (CAMP-5)', () => {
    let club: TestClub;
    let address: string;
    beforeEach(async () => {
      const { vault } = await testDeps();
      club = await buildClub();
      const { id: studentId } = await buildStudent(club.id);
      const { port } = await testApi();
      const token = wayOutToken(vault, { kind: 'campaigns', studentId });
      address = `http://127.0.0.1:${port}/v1/clubs/${club.id}/classroom/mail/unsubscribe/${token}`;
    });
    const suppressions = async () => {
      const source = await testDatabase();
      return source.query(`SELECT left_campaigns_at IS NOT NULL AS left FROM mail_suppressions WHERE club_id = $1`, [
        club.id,
      ]);
    };

    it('opening it changes nothing, one click leaves, another comes back', async () => {
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

    it('leads to the other kind of mail, and loads nothing but itself', async () => {
      const page = await openPage(widths.laptop);
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.method()));
      await page.goto(address);
      await page.getByRole('link', { name: 'The automatic messages' }).click();
      await page.getByRole('button', { name: 'Stop automatic messages' }).click();
      await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
      expect(asked).to.deep.equal(['GET', 'GET', 'POST']);
    });
  });
});
