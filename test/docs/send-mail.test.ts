/** Sends each request of docs/how-to/send-mail.md and docs/reference/mail-notices.md to the API, in order. */
import { expect } from 'chai';
import { rules } from '../../api/rate-limits/rules.policy.ts';
import { campaignConnections } from '../../platform/infra/smtp/smtp-hand-over.ts';
import { recipientStatuses } from '../../entities/mail/values.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { callAt, type Answer } from '../toolkit/drive/api.ts';
import { blocksOf, examplesOf, filledIn, readPage, type PageExample } from '../toolkit/drive/page-examples.ts';
import { startNameServer, type NameServer } from '../toolkit/fakes/name-server.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';

const [page, reference] = [readPage('docs/how-to/send-mail.md'), readPage('docs/reference/mail-notices.md')];
const examples = examplesOf(page);
const noticeToken = 'the-token-of-the-operator';

describe('docs/how-to/send-mail.md', () => {
  /** The DNS records that the club has published. */
  const zone = new Map<string, string>();
  let names: NameServer;
  let served: ServedApp;
  before(async () => {
    names = await startNameServer((name) => {
      const text = zone.get(name);
      return text === undefined ? undefined : { texts: [text] };
    });
    served = await serveApp({
      env: {
        MAIL_NOTICE_TOKEN: noticeToken,
        MAIL_DNS_SERVERS: names.address,
        MAIL_SPF_INCLUDE: 'spf.platform.example',
      },
    });
  });
  after(async () => {
    names.stop();
    await served.close();
  });

  it('contains only requests that the API accepts in the order of the page', async () => {
    const club = await buildClub();
    const { id: studentId } = await buildStudent(club.id);
    const known = new Map([
      ['clubId', club.id],
      ['studentId', studentId],
      ['MAIL_NOTICE_TOKEN', noticeToken],
    ]);
    const send = ({ method, path: at, body }: PageExample): Promise<Answer> => {
      const filled = filledIn(at, known);
      const isFile = body !== undefined && !body.startsWith('{');
      return callAt(served.base, method, filled, {
        token: at.startsWith('/webhooks/') ? undefined : club.owner.token,
        ...(body !== undefined && { raw: body, headers: { 'content-type': isFile ? 'text/csv' : 'application/json' } }),
      });
    };
    const answers = new Map<string, Answer>();
    const acceptances: string[] = [];
    for (const example of examples) {
      const at = `${example.method} ${example.path.replace('/v1/clubs/{clubId}', '')}`;
      const answer = await send(example);
      answers.set(at, answer);
      const data = answer.body?.data;
      if (at === 'POST /campaigns') known.set('campaignId', data.id);
      if (at.startsWith('GET /mail/suppressions')) known.set('suppressionId', data[0]?.id);
      if (at === 'PUT /mail/domain')
        for (const { name, value } of data.records as { name: string; value: string }[]) zone.set(name, value);
      acceptances.push(`${at} ${answer.status < 300 ? 'accepted' : answer.text}`);
    }
    expect(acceptances).to.deep.equal([...answers.keys()].map((at) => `${at} accepted`));
    expect(examples).to.have.length.above(20);
    const dataOf = (at: string) => answers.get(at)?.body.data;
    const kinds = [...page.matchAll(/^\| `(dkim|spf|dmarc)` \|/gm)].map(([, kind]) => kind);
    expect(dataOf('PUT /mail/domain').records.map(({ kind }: { kind: string }) => kind)).to.deep.equal(kinds);
    expect(dataOf('GET /mail/domain').status).to.equal('proven');
    expect(dataOf('POST /mail/suppressions/import')).to.include({ added: 2, failed: 0 });
    expect(dataOf('GET /campaigns/{campaignId}/problems').problems).to.deep.equal([]);
    expect(dataOf('GET /campaigns/{campaignId}/previews').previews).to.have.length(1);
    const [, statement = ''] = /^ {4}(SELECT campaign_id, .+)$/m.exec(readPage('docs/how-to/operate.md')) ?? [];
    const source = await testDatabase();
    const counts = await source.query(statement.replace('…', known.get('campaignId') ?? ''));
    expect(counts, 'canceled before it began').to.deep.equal([]);
  });

  it('contains notices that the API accepts, and makes SNS send fewer notices than the rate limit allows', async () => {
    const [event = ''] = blocksOf(reference, 'json').filter((block) => block.includes('"events"'));
    const answer = await callAt(served.base, 'POST', `/webhooks/mail/${noticeToken}`, { raw: event });
    expect(answer.status).to.equal(202);
    const bound = rules.find(({ path: at }) => at === '/webhooks/{platform}/{token}');
    const [policy = ''] = /\{ "throttlePolicy".+?\} \}/.exec(reference) ?? [];
    expect(JSON.parse(policy)).to.deep.equal({ throttlePolicy: { maxReceivesPerSecond: 9 } });
    expect(9 * 60).to.be.below(bound?.limit ?? 0);
    expect(reference).to.include(`the path accepts ${bound?.limit} requests a minute`);
  });

  it('names every status of a recipient, and the number of connections of a worker', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(rows).to.include.members([...recipientStatuses]);
    expect(page).to.include(`on ${campaignConnections} connections`);
  });
});
