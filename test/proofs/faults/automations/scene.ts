/** An automation with every kind of step. Each student passes twelve of its fifteen steps. */
import { createAutomation } from '../../../../domain/automations/versions/drafts.ts';
import type { Definition, Step } from '../../../../domain/automations/versions/definition.policy.ts';
import { publishAutomation } from '../../../../domain/automations/versions/publishing.ts';
import { setSender } from '../../../../domain/mail/sending/sender.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../../platform/infra/keys/vault.ts';

/** At this speed a day of waiting takes ten seconds. */
export const waitSpeed = 8_640;

/** `start` begins a run. The run adds and removes `givenTag`. `keenTag` ends a wait. `seenTag` and the points record how the wait ended. */
export type Tags = Readonly<Record<'start' | 'givenTag' | 'keenTag' | 'seenTag', Id>>;

export const points = { begun: 5, has: 7, late: 3 } as const;
/** No run takes the branch that gives these points. */
const never = 1_000;

/** The steps that every run passes, in order. After `wait`, each run passes one more step. */
export const always = [
  'welcome',
  'give',
  'begun',
  'pause',
  'check',
  'has',
  'take',
  'morning',
  'wait',
  'goodbye',
  'end',
] as const;

const hasTag = (tagId: Id) => ({
  match: 'all' as const,
  rules: [{ kind: 'has_tag' as const, negate: false, tag_ids: [tagId] }],
});

const email = (id: string): Step => ({
  id,
  kind: 'send_email',
  email: { subject: 'Ahoy {{student_first_name|there}}', blocks: [{ kind: 'text', text: `This is the **${id}**.` }] },
});

function definitionOf({ start, givenTag, keenTag, seenTag }: Tags): Definition {
  return {
    trigger: { kind: 'student_tagged', tag_ids: [start] },
    reentry: 'once',
    exit_on_access_lost: false,
    steps: [
      email('welcome'),
      { id: 'give', kind: 'add_tag', tag_id: givenTag },
      { id: 'begun', kind: 'award_points', points: points.begun, note: 'Has begun' },
      { id: 'pause', kind: 'wait', wait: { kind: 'delay', amount: 6, unit: 'hours' } },
      {
        id: 'check',
        kind: 'condition',
        condition: hasTag(givenTag),
        then: [{ id: 'has', kind: 'award_points', points: points.has }],
        else: [{ id: 'has not', kind: 'award_points', points: never }],
      },
      { id: 'take', kind: 'remove_tag', tag_id: givenTag },
      { id: 'morning', kind: 'wait', wait: { kind: 'until_time', days: 0, amount: 540, unit: 'minutes' } },
      {
        id: 'wait',
        kind: 'wait',
        wait: { kind: 'until_condition', days: 3 },
        condition: hasTag(keenTag),
        then: [{ id: 'in time', kind: 'add_tag', tag_id: seenTag }],
        else: [{ id: 'late', kind: 'award_points', points: points.late }],
      },
      email('goodbye'),
      { id: 'end', kind: 'exit' },
    ],
  };
}

/** Publishes the automation. */
export async function publishLongWay(
  deps: { db: Database; vault: Vault },
  clubId: Id,
  mailsPerMinute: number,
): Promise<{ automationId: Id; tags: Tags }> {
  const now = new Date();
  const tags: Tags = { start: newId(), givenTag: newId(), keenTag: newId(), seenTag: newId() };
  await deps.db.source.query(
    `INSERT INTO tags (id, club_id, name, folded_name, created_at)
     SELECT id, $2, name, name, now() FROM unnest($1::uuid[], $3::text[]) AS one (id, name)`,
    [Object.values(tags), clubId, Object.keys(tags)],
  );
  const sender = { from_name: 'Harbour', postal_address: 'Quay 1', mails_per_minute: mailsPerMinute };
  await setSender(deps, clubId, sender, now);
  const draft = definitionOf(tags) as never;
  const { record } = await createAutomation(deps, clubId, { name: 'A long way', draft }, now);
  await publishAutomation(
    { ...deps, publicUrl: 'https://api.example.com', images: undefined as never },
    clubId,
    record.id,
    '*',
    now,
  ); // the automation has no images
  return { automationId: record.id, tags };
}
