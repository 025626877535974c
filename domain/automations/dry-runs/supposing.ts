/** Reads the supposed facts of a dry run. Each fact must have the fields of its kind, and all its ids must belong to the club (AUTO-19). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { AccessKind, ReferredKind } from '../../../entities/automations/values.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { knownIds } from '../../conditions/problems.ts';
import type { ReadVersion } from '../running/version-cache.ts';
import type { SupposedFact } from './world.ts';

type Request = RecordOf<'AutomationDryRunRequest'>;
type FactRecord = RecordOf<'AutomationSupposedFact'>;

const fields = [
  'tag_id',
  'lesson_id',
  'course_id',
  'product_id',
  'delivery_id',
  'cohort_id',
  'ends_at',
  'step_id',
] as const;
type Field = (typeof fields)[number];

/** For each kind of fact, `about` is the field with the id of its subject, and `besides` lists the other allowed fields. */
const fieldsOf: Readonly<Record<FactRecord['kind'], { about: Field; besides?: readonly Field[] }>> = {
  student_tagged: { about: 'tag_id' },
  student_untagged: { about: 'tag_id' },
  lesson_completed: { about: 'lesson_id' },
  lesson_undone: { about: 'lesson_id' },
  course_completed: { about: 'course_id' },
  purchase_paid: { about: 'product_id' },
  purchase_refunded: { about: 'product_id' },
  access_granted: { about: 'delivery_id', besides: ['cohort_id', 'ends_at'] },
  access_revoked: { about: 'delivery_id' },
  email_opened: { about: 'step_id' },
  email_clicked: { about: 'step_id' },
};

const namedBy = {
  tag_id: 'tag',
  lesson_id: 'lesson',
  course_id: 'course',
  product_id: 'product',
  delivery_id: 'delivery',
  cohort_id: 'cohort',
} as const satisfies Partial<Record<Field, ReferredKind>>;

/** Keeps every year at four digits, because Postgres and API callers cannot write longer years. */
const maxDistanceMs = 10 * 366 * 86_400_000;

export interface Supposed {
  begins: Date;
  /** The facts in the order of their times. Facts with the same time are in the order of the request. */
  facts: SupposedFact[];
  access: { kind: AccessKind; id: Id } | undefined;
}

/**
 * @throws DomainError invalid_request, when a fact has a field that its kind does not allow, a step without an e-mail, or a time too far
 * away @throws DomainError not_found, when an id does not exist
 */
export async function readSupposed(
  db: Queries,
  clubId: Id,
  version: ReadVersion,
  { starts_at: startsAt, about, facts = [] }: Request,
  now: Date,
): Promise<Supposed> {
  const begins = startsAt === undefined ? now : new Date(startsAt);
  if (Math.abs(begins.getTime() - now.getTime()) > maxDistanceMs)
    throw invalid('starts_at is more than 10 years from now.');
  for (const [index, fact] of facts.entries()) requireFields(fact, `facts/${index}`, version);
  const references = [
    ...facts.flatMap((fact) =>
      Object.entries(namedBy).map(([field, kind]) => ({ kind, id: fact[field as keyof typeof namedBy] })),
    ),
    ...(about ? [{ kind: about.kind, id: about.id }] : []),
  ].flatMap(({ kind, id }) => (id === undefined ? [] : [{ kind, id }]));
  const existingIds = await knownIds(
    db,
    clubId,
    references.map(({ id }) => id),
  );
  const unknown = references.find(({ kind, id }) => !existingIds.has(`${kind}:${id}`));
  if (unknown) throw notFound(unknown.kind);
  return {
    begins,
    facts: facts
      .map(({ at, ends_at: endsAt, ...fact }) => ({
        ...fact,
        at: new Date(at),
        endsAt: endsAt === undefined ? null : new Date(endsAt),
      }))
      .toSorted((one, other) => one.at.getTime() - other.at.getTime()),
    access: about,
  };
}

function requireFields(fact: FactRecord, path: string, { steps }: ReadVersion): void {
  const { about, besides = [] } = fieldsOf[fact.kind];
  if (fact[about] === undefined) throw invalid(`${path}/${about}: missing, although a fact ${fact.kind} needs it.`);
  const foreign = fields.find((field) => fact[field] !== undefined && field !== about && !besides.includes(field));
  if (foreign !== undefined) throw invalid(`${path}/${foreign}: a fact ${fact.kind} must not have this field.`);
  if (about === 'step_id' && steps.get(fact.step_id ?? '')?.step.kind !== 'send_email')
    throw invalid(`${path}/step_id: no step with this id sends an e-mail.`);
}

const invalid = (problem: string) => new DomainError('invalid_request', problem);
