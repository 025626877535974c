/** docs/how-to/send-mail.md against the API: each of its requests, in their order. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';
import { campaignConnections } from '../../platform/infra/smtp-hand-over.ts';
import { recipientStatuses } from '../../entities/mail/values.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';

const page = readFileSync(path.join(projectDirectory, 'docs/how-to/send-mail.md'), 'utf8');

interface Example {
  method: string;
  /** Behind the club's path. */
  path: string;
  body?: unknown;
}

/** A block is one request with a body, or several without. */
function examplesIn(block: string): Example[] {
  const [lines = '', body] = block.split('\n\n');
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const [, method = '', at = ''] = /^([A-Z]+) \/v1\/clubs\/\{clubId\}(\S*)$/.exec(line) ?? [];
      return { method, path: at, ...(body !== undefined && { body: JSON.parse(body) as unknown }) };
    });
}

const examples = [...page.matchAll(/^```http\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) => examplesIn(block));

describe('docs/how-to/send-mail.md', () => {
  it('each request is accepted, in their order', async () => {
    const club = await buildClub();
    await buildStudent(club.id);
    const send = callsOf(club);
    let campaignId = '';
    const answers: string[] = [];
    for (const { method, path: at, body } of examples) {
      const answer = await send(method, at.replace('{campaignId}', campaignId), body);
      if (method === 'POST' && at === '/campaigns') campaignId = answer.body.data.id;
      answers.push(`${method} ${at} ${answer.status < 300 ? 'accepted' : JSON.stringify(answer.body)}`);
    }
    expect(answers).to.deep.equal(examples.map(({ method, path: at }) => `${method} ${at} accepted`));
    expect(examples).to.have.length.above(10);
  });

  it('names every status, and the connections of a worker', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(rows).to.include.members([...recipientStatuses]);
    expect(page).to.include(`on ${campaignConnections} connections`);
  });
});
