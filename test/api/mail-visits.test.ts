import { expect } from 'chai';
import { readStatistics } from '../../domain/campaigns/recipients.ts';
import { setSender } from '../../domain/mail/sending/sender.ts';
import { linkToken } from '../../domain/mail/tracking/tokens.ts';
import { removeStudent } from '../../domain/students/students.ts';
import { Mail } from '../../entities/mail/mail.ts';
import { MailClick } from '../../entities/mail/mail-click.ts';
import type { Tracking } from '../../entities/mail/values.ts';
import { newId } from '../../platform/core/ids.ts';
import type { TestClub } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { sendCampaign, type SentMail } from '../toolkit/drive/campaigns.ts';
import { rowCounts, testDeps } from '../toolkit/stack/database.ts';

const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' };
const applePrivacyProxy = { 'user-agent': 'Mozilla/5.0' };
const day = 86_400_000;

describe('visits to tracked addresses of mails (CAMP-13)', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let campaignId: string;
  let mail: SentMail;
  const send = async (tracking: Tracking = 'all', count = 1) => {
    const campaign = await sendCampaign({ count, now: clock.now(), tracking });
    ({ club, campaignId } = campaign);
    const [first] = campaign.mails;
    if (!first) throw new Error('No mail was sent');
    mail = first;
    return campaign.mails;
  };
  beforeEach(async () => {
    deps = await testDeps();
  });

  const addressesIn = ({ message }: SentMail) => {
    const own = (text: string) => new URL(text).pathname;
    const html = message.html.replaceAll('&amp;', '&');
    return {
      links: [...new Set([...html.matchAll(/href="([^"]+\/mail\/links\/[^"]+)"/g)].map(([, url = '']) => own(url)))],
      picture: [...html.matchAll(/src="([^"]+\/mail\/openings\/[^"]+)"/g)].map(([, url = '']) => own(url))[0],
    };
  };
  const visit = (path = '', headers: Record<string, string> = browser, method = 'GET') =>
    call(method, path, { headers });
  const statistics = async () => {
    const { opened, clicked, machine_opened, machine_clicked, links } = await readStatistics(
      deps.db,
      club.id,
      campaignId,
    );
    return {
      opened,
      clicked,
      machine_opened,
      machine_clicked,
      links: links.map((link) => [link.clicked, link.machine_clicked]),
    };
  };
  const nothing = {
    opened: 0,
    clicked: 0,
    machine_opened: 0,
    machine_clicked: 0,
    links: [
      [0, 0],
      [0, 0],
    ],
  };
  const times = async () => {
    const { openedAt, clickedAt, machineOpenedAt, machineClickedAt } = await deps.db.manager.findOneByOrFail(Mail, {
      id: mail.mailId,
    });
    return { openedAt, clickedAt, machineOpenedAt, machineClickedAt };
  };

  it('return an image if the address is the tracking image, and record the first opening of the mail', async () => {
    await send();
    const { picture } = addressesIn(mail);
    const before = clock.now();
    const { status, headers, bytes } = await visit(picture);
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.equal('image/gif');
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(bytes.subarray(0, 6).toString()).to.equal('GIF89a');
    const { openedAt } = await times();
    expect(openedAt?.getTime()).to.be.within(before.getTime(), Date.now());
    clock.advance(60_000);
    await visit(`${picture}?utm_source=mail`);
    expect(await times()).to.deep.equal({ openedAt, clickedAt: null, machineOpenedAt: null, machineClickedAt: null });
    expect(await statistics()).to.deep.equal({ ...nothing, opened: 1 });
  });

  it('are counted separately if a machine makes them, and then do not set opened_at or clicked_at', async () => {
    await send();
    const { picture, links } = addressesIn(mail);
    await visit(picture, applePrivacyProxy);
    await visit(picture, browser, 'HEAD');
    expect((await visit(links[0], browser, 'HEAD')).status).to.equal(302);
    expect(await times()).to.include({ openedAt: null, clickedAt: null });
    expect(await statistics()).to.deep.equal({
      ...nothing,
      machine_opened: 1,
      machine_clicked: 1,
      links: [
        [0, 1],
        [0, 0],
      ],
    });
  });

  it('are redirected to the target of the link, and the first visit is recorded', async () => {
    await send();
    const { links } = addressesIn(mail);
    const { status, headers, text } = await visit(`${links[1]}?fbclid=x`);
    expect([status, headers.get('location'), text]).to.deep.equal([302, 'https://example.com/two?a=b&c=d', '']);
    const { clickedAt } = await times();
    clock.advance(60_000);
    expect((await visit(links[0])).headers.get('location')).to.equal('https://example.com/one');
    clock.advance(60_000);
    await visit(links[1]);
    expect((await times()).clickedAt).to.deep.equal(clickedAt);
    expect(await statistics()).to.deep.equal({
      ...nothing,
      clicked: 1,
      links: [
        [1, 0],
        [1, 0],
      ],
    });
  });

  it('count as visits by a machine if they follow two links of the mail within 2 seconds', async () => {
    await send();
    const { links } = addressesIn(mail);
    await visit(links[0]);
    expect(await statistics()).to.deep.include({ clicked: 1, machine_clicked: 0 });
    await visit(links[1]);
    expect(await statistics()).to.deep.equal({
      ...nothing,
      machine_clicked: 1,
      links: [
        [0, 1],
        [0, 1],
      ],
    });
    expect((await times()).clickedAt).to.equal(null);
    clock.advance(10_000);
    await visit(links[0]);
    expect(await statistics()).to.deep.equal({
      ...nothing,
      clicked: 1,
      machine_clicked: 1,
      links: [
        [1, 1],
        [0, 1],
      ],
    });
  });

  it('are counted once for each recipient, even if a recipient makes several visits simultaneously', async () => {
    const mails = await send('all', 3);
    await Promise.all(
      mails.flatMap((one) => {
        const { picture, links } = addressesIn(one);
        return [visit(picture), visit(picture), visit(links[0]), visit(links[0]), visit(links[0])];
      }),
    );
    expect(await statistics()).to.deep.equal({
      ...nothing,
      opened: 3,
      clicked: 3,
      links: [
        [3, 0],
        [0, 0],
      ],
    });
  });

  it('return 404 for a forged token, a token of a different kind and an unknown link', async () => {
    await send();
    const {
      picture = '',
      links: [link = ''],
    } = addressesIn(mail);
    const before = await rowCounts();
    const swapped = [picture.replace('openings', 'links'), link.replace('links', 'openings')];
    const unknown = `/mail/links/${linkToken(deps.vault, { linkId: newId(), mailId: mail.mailId })}`;
    for (const bad of [`${picture}A`, `${link}A`, '/mail/links/x', '/mail/openings/x', ...swapped, unknown])
      expectError(await visit(bad), 'not_found');
    expect(await rowCounts()).to.deep.equal(before);
    expect(await times()).to.include({ openedAt: null, clickedAt: null });
  });

  it('are tracked at links in text and HTML, except personal links and the unsubscribe link', async () => {
    await send();
    const { links } = addressesIn(mail);
    expect(links).to.have.length(2);
    for (const link of links) expect(mail.message.text).to.contain(link);
    expect(mail.message.html).to.contain('https://example.com/?who=').and.to.contain('/classroom/mail/unsubscribe/');
  });

  it('are recorded only at links if the club tracks clicks, and nowhere if the club tracks nothing', async () => {
    await send('clicks');
    expect(addressesIn(mail)).to.deep.include({ picture: undefined });
    expect(addressesIn(mail).links).to.have.length(2);
    await send('none');
    expect(addressesIn(mail)).to.deep.equal({ links: [], picture: undefined });
    expect(mail.message.html).to.contain('href="https://example.com/one"');
  });

  it('are answered but not recorded if tracking is off, the student is removed or 90 days have passed', async () => {
    const sender = { from_name: 'Knots', postal_address: 'Quay 1' };
    const followed = async () => {
      const { picture, links } = addressesIn(mail);
      expect((await visit(picture)).status).to.equal(200);
      expect((await visit(links[0])).status).to.equal(302);
      return statistics();
    };
    await send();
    await setSender(deps, club.id, { ...sender, tracking: 'none' }, clock.now());
    expect(await followed()).to.deep.equal(nothing);
    await send();
    await setSender(deps, club.id, { ...sender, tracking: 'clicks' }, clock.now());
    expect(await followed()).to.deep.include({ opened: 0, clicked: 1 });
    await send();
    await removeStudent(deps, club.id, mail.studentId, clock.now());
    expect(await followed()).to.deep.equal(nothing);
    await send();
    clock.advance(90 * day + 1_000);
    expect(await followed()).to.deep.equal(nothing);
  });

  it('are erased when the student is removed, but their counts remain', async () => {
    await send();
    await visit(addressesIn(mail).links[0]);
    await removeStudent(deps, club.id, mail.studentId, clock.now());
    expect(await deps.db.manager.countBy(MailClick, { mailId: mail.mailId })).to.equal(0);
    expect(await statistics()).to.deep.equal({
      ...nothing,
      clicked: 1,
      links: [
        [1, 0],
        [0, 0],
      ],
    });
  });

  it('prove that a mail with an unknown outcome arrived (CAMP-14)', async () => {
    const { mails, ...campaign } = await sendCampaign({ count: 1, now: clock.now() }, () => ({ kind: 'unknown' }));
    ({ club, campaignId } = campaign);
    [mail] = mails as [SentMail];
    expect(await deps.db.manager.findOneByOrFail(Mail, { id: mail.mailId })).to.include({ status: 'failed' });
    await visit(addressesIn(mail).picture);
    const { status, lastError, sentAt, openedAt } = await deps.db.manager.findOneByOrFail(Mail, { id: mail.mailId });
    expect({ status, lastError, sentAt }).to.deep.equal({ status: 'sent', lastError: null, sentAt: openedAt });
    expect(await readStatistics(deps.db, club.id, campaignId)).to.include({ sent: 1, failed: 0 });
  });
});
