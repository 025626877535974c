/** The scene of the tour that mails a campaign, on the real stack. */
import { expect } from 'chai';
import { startApi, type RunningApi } from '../../api/server.ts';
import { campaignIsMailed } from '../../dev/tour/campaign.ts';
import { setScene } from '../../dev/tour/scene.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useWorker } from '../toolkit/stack/worker.ts';

describe('dev/tour: a campaign is mailed', () => {
  const startWorker = useWorker();
  let api: RunningApi;

  before(async function () {
    this.timeout(60_000);
    api = await startApi(await testConfig());
    const publicUrl = `http://127.0.0.1:${api.port}`;
    await startWorker({ WORKER_TASK_QUEUES: 'campaigns', PUBLIC_URL: publicUrl });
  });
  after(() => api.stop());

  it('is written, sent, listed, read and left in one click', async function () {
    this.timeout(60_000);
    const { mailbox } = await testStack();
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: 'Ada Meadow' });
    const lines: string[] = [];
    const closer = await campaignIsMailed(
      setScene({
        environment: {
          MAILBOX_URL: mailbox.httpUrl,
          API_PORT: String(api.port),
          TEMPORAL_UI_URL: 'http://ui',
          TEMPORAL_NAMESPACE: 'here',
        },
        say: (line) => lines.push(line),
        receiver: undefined as never,
      }),
      { clubId: club.id, token: club.owner.token },
    );
    const told = lines.join('\n');
    expect(told).to.include('it would reach 1 students now');
    expect(told).to.include('Ada Meadow (longest name) would read “The spring regatta, Ada”');
    expect(told).to.include(`Ada Meadow <${student.email}>: sent`);
    expect(told).to.include('“The spring regatta, Ada” has arrived');
    expect(told).to.include('the next campaign would reach 0, and leave out 1 who unsubscribed');
    expect(closer.run).to.match(/^http:\/\/ui\/namespaces\/here\/workflows\/campaign-run%2F[0-9a-f-]{36}$/);
    const { port } = api;
    const page = await fetch(`http://127.0.0.1:${port}${new URL(closer.preview).pathname}`, {
      headers: { accept: 'text/html' },
    });
    expect([page.status, await page.text()].join(' ')).to.match(/^200 [^]*The copy of <bdi>Ada Meadow<\/bdi>/);
    expect(closer.wayOut).to.include(`/v1/clubs/${club.id}/classroom/mail/unsubscribe/`);
  });
});
