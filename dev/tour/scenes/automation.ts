/** Scene: an automation is published, and one student goes through its steps: an e-mail, a wait, and a tag that causes webhooks. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Message } from '../../mailbox/mailbox.ts';
import { Problem } from '../../problem.ts';
import { requireOk, runPage, tellAttempt, until, type Club, type Scene } from '../scene.ts';

/** The wait in the automation, which the tour shortens. */
const waitHours = 3;
const longestWaitSeconds = 15;

/** @returns links to further details */
export async function automationRuns(
  scene: Scene,
  { clubId, token }: Club,
  studentId: string,
): Promise<{ run: string; mail: Message }> {
  const { say, begin, tell, show, mailbox, receiver, environment } = scene;
  const administrator = scene.client(token);
  const quiet = scene.quietClient(token);
  const params = { path: { clubId } };

  begin(14, 'automation.title');
  const tag = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/tags', {
      params,
      body: { name: `On board ${randomBytes(3).toString('hex')}` },
    }),
  ).data;
  const { secret } = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/webhook-endpoints', {
      params,
      body: { url: `${receiver.url}/hooks/tags`, event_types: ['student.tagged'] },
    }),
  ).data;
  const created = await administrator.POST('/v1/clubs/{clubId}/workflows', {
    params,
    body: {
      name: 'Welcome on board',
      draft: {
        trigger: { kind: 'manual' },
        reentry: 'once',
        exit_on_access_lost: false,
        steps: [
          {
            id: 'welcome',
            kind: 'send_email',
            email: {
              subject: 'Welcome on board, {{student_first_name|sailor}}',
              blocks: [
                { kind: 'heading', text: 'Ahoy {{student_first_name|sailor}}' },
                { kind: 'text', text: 'Find your cabin. We **sail** soon.' },
              ],
            },
          },
          { id: 'a while', kind: 'wait', wait: { kind: 'delay', amount: waitHours, unit: 'hours' } },
          { id: 'on board', kind: 'add_tag', tag_id: tag.id },
        ],
      },
    },
  });
  const automation = requireOk(created).data;
  const ofAutomation = { clubId, workflowId: automation.id };
  const { problems } = requireOk(
    await administrator.GET('/v1/clubs/{clubId}/workflows/{workflowId}/problems', { params: { path: ofAutomation } }),
  ).data;
  if (problems.length === 0) tell('automation.no_problems');
  else show(JSON.stringify(problems), 'automation.problems');
  const published = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/workflows/{workflowId}/publish', {
      params: { path: ofAutomation, header: { 'If-Match': created.response.headers.get('etag') ?? '*' } },
    }),
  ).data;
  tell('automation.version', { number: published.published?.number ?? 0 });

  begin(15, 'automation.enters');
  const student = requireOk(
    await quiet.GET('/v1/clubs/{clubId}/students/{studentId}', { params: { path: { clubId, studentId } } }),
  ).data;
  requireOk(
    await administrator.POST('/v1/clubs/{clubId}/workflows/{workflowId}/runs', {
      params: { path: ofAutomation },
      body: { id: randomUUID(), student_ids: [studentId] },
    }),
  );
  const runId = requireOk(
    await quiet.GET('/v1/clubs/{clubId}/workflows/{workflowId}/runs', { params: { path: ofAutomation } }),
  ).data[0]?.id;
  if (runId === undefined) throw new Problem('No student entered the automation.');
  const read = async () =>
    requireOk(
      await quiet.GET('/v1/clubs/{clubId}/workflows/{workflowId}/runs/{runId}', {
        params: { path: { ...ofAutomation, runId } },
      }),
    ).data;
  const mail = await until('The mail of the automation', async () => {
    const newest = await mailbox.waitFor(student.email);
    return newest.subject.startsWith('Welcome on board') ? newest : undefined;
  });
  show(mailbox.linkTo(mail), 'mail_arrived', { subject: mail.subject });
  const run = runPage(scene, 'automationRun', runId);
  show(run, 'automation.run');
  const speed = Number(environment['AUTOMATION_WAIT_SPEED'] ?? 1);
  if ((waitHours * 3_600) / speed > longestWaitSeconds) {
    tell('automation.waits', { hours: waitHours });
    return { run, mail };
  }
  tell('automation.faster', { hours: waitHours, speed });

  const request = await until('The webhook student.tagged', async () =>
    receiver.requests.find(({ path }) => path === '/hooks/tags'),
  );
  tellAttempt(scene, request, 200, [secret]);
  const ended = await until('The end of the run', async () => {
    const now = await read();
    return now.status === 'active' ? undefined : now;
  });
  for (const { step_id: id, kind, outcome } of ended.path) say(`   “${id}” (${kind}): ${outcome}`);
  if (ended.status !== 'completed') throw new Problem(`The run is ${ended.status}.`);
  return { run, mail };
}
