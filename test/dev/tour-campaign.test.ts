/** The tour scenes that send a campaign, run an automation, and open a whole club, on the real stack. */
import { expect } from 'chai';
import { startApi, type RunningApi } from '../../api/server.ts';
import { automationRuns } from '../../dev/tour/scenes/automation.ts';
import { campaignIsMailed } from '../../dev/tour/scenes/campaign.ts';
import { setScene, type Scene } from '../../dev/tour/scene.ts';
import { wholeClubIsOpened } from '../../dev/tour/scenes/whole-club.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { setSender } from '../../domain/mail/sending/sender.ts';
import type { Id } from '../../platform/core/ids.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { everyText } from '../toolkit/assert/histories.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useTemporal, useWorker } from '../toolkit/stack/worker.ts';

describe('dev/tour: e-mails to students', () => {
  const startWorker = useWorker();
  const delivering = useDeliveries();
  const temporal = useTemporal();
  let api: RunningApi;
  let environment: Scene['environment'];

  before(async function () {
    this.timeout(60_000);
    const fast = { AUTOMATION_WAIT_SPEED: '7200' };
    api = await startApi(await testConfig({ ...fast, EGRESS_ALLOWED_NETWORKS: '127.0.0.0/8' }));
    const publicUrl = `http://127.0.0.1:${api.port}`;
    await startWorker({
      ...fast,
      WORKER_TASK_QUEUES: 'campaigns,automations,webhooks,sales,mail,media',
      PUBLIC_URL: publicUrl,
    });
    environment = {
      ...fast,
      MAILBOX_URL: (await testStack()).mailbox.httpUrl,
      API_PORT: String(api.port),
      TEMPORAL_UI_URL: 'http://ui',
      TEMPORAL_NAMESPACE: 'here',
    };
  });
  after(() => api.stop());

  it('shows a campaign from its draft to the one-click unsubscription', async function () {
    this.timeout(60_000);
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: 'Ada Meadow' });
    const lines: string[] = [];
    const closer = await campaignIsMailed(
      setScene({
        environment,
        say: (line) => lines.push(line),
        receiver: undefined as never,
      }),
      { clubId: club.id, token: club.owner.token },
    );
    const output = lines.join('\n');
    expect(output).to.include('students that it would reach now: 1');
    expect(output).to.include('Ada Meadow (longest_name) would read “The spring regatta, Ada”');
    expect(output).to.include(`Ada Meadow <${student.email}>: sent`);
    expect(output).to.include('“The spring regatta, Ada” has arrived');
    expect(output).to.include('the next campaign would reach 0, and leave out 1 who unsubscribed');
    expect(closer.run).to.match(/^http:\/\/ui\/namespaces\/here\/workflows\/campaign-run%2F[0-9a-f-]{36}$/);
    const { port } = api;
    const page = await fetch(`http://127.0.0.1:${port}${new URL(closer.preview).pathname}`, {
      headers: { accept: 'text/html' },
    });
    expect([page.status, await page.text()].join(' ')).to.match(/^200 [^]*The copy for Ada Meadow\./);
    expect(closer.unsubscribeUrl).to.include(`/v1/clubs/${club.id}/classroom/mail/unsubscribe/`);
  });

  it('shows an automation that sends an e-mail and adds a tag, and Temporal stores none of its text', async function () {
    this.timeout(60_000);
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: 'Ada Meadow' });
    const receiver = await delivering().receiver(() => ({ status: 200 }));
    const { db } = await testDeps();
    await setSender({ db }, club.id, { from_name: 'Harbour', postal_address: 'Quay 1' }, new Date());
    const lines: string[] = [];
    const scene = setScene({ environment, say: (line) => lines.push(line), receiver });
    const { run } = await automationRuns(scene, { clubId: club.id, token: club.owner.token }, student.id);
    const output = lines.join('\n');
    expect(output).to.include('problems of the draft: none');
    expect(output).to.include('“Welcome on board, Ada” has arrived');
    expect(output).to.match(/student\.tagged, \d+ bytes, answered 200/);
    expect(output).to.include(
      '“welcome” (send_email): sent\n   “a while” (wait): time_over\n   “on board” (add_tag): tagged',
    );

    const [row] = await db.source.query<{ id: Id; automation: Id; version: Id }[]>(
      `SELECT id, automation_id AS automation, version_id AS version FROM automation_runs WHERE student_id = $1`,
      [student.id],
    );
    if (!row) throw new Error('The run has a row in Postgres.');
    expect(run).to.equal(`http://ui/namespaces/here/workflows/automation-run%2F${row.id}`);
    const handle = temporal().workflow.getHandle(workflowIdOf('automationRun', row.id));
    const { typedSearchAttributes, raw } = await handle.describe();
    expect(
      Object.fromEntries(typedSearchAttributes.getAll().map(({ key: { name }, value }) => [name, value])),
    ).to.include({ ClubId: club.id, AutomationId: row.automation, AutomationVersion: row.version });
    const history = await handle.fetchHistory();
    const text = everyText({ described: raw, history });
    expect(text)
      .to.match(/step 2 of 3, a delay in about [12] s/)
      .and.to.include(`a run of automation ${row.automation}`);
    for (const word of ['a while', 'on board', 'Welcome', 'Ada', student.email]) expect(text).to.not.include(word);
  });

  it('shows a sale that opens a folder and a space, and a buyer who uses them', async function () {
    this.timeout(60_000);
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: 'Berta Brook' });
    const shop = await callsOf(club)('POST', '/sales-connections', { platform: 'generic', name: 'A shop' });
    const lines: string[] = [];
    const { run } = await wholeClubIsOpened(
      setScene({ environment, say: (line) => lines.push(line), receiver: undefined as never }),
      { clubId: club.id, token: club.owner.token },
      { ...student, name: 'Berta Brook', shop: shop.body.data.token },
      19,
    );
    const output = lines.join('\n');
    expect(output).to.include('Berta Brook sees 2 files, and is a member of “The Quay”');
    expect(output).to.match(/the line is cut: \d{6} of \d{6} bytes of Knot cards\.zip have arrived/);
    expect(output).to.match(/GET with Range and If-Range, at a renewed address → 206: \d{6} bytes in all/);
    expect(output).to.include('Berta Brook posts “My bowline slips”; the picture beside it → 200');
    expect(output).to.include('Ada Administrator answers: Leave a longer end');
    expect(output).to.match(/“Your session at [^”]*” has arrived, with session\.ics/);
    expect(run).to.match(/^http:\/\/ui\/namespaces\/here\/workflows\/mentorship-session%2F[0-9a-f-]{36}$/);
  });
});
