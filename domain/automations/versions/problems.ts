/** Finds the problems that prevent the publication of a draft, each with its JSON path (AUTO-7). */
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import type { ReferredKind, TriggerKind } from '../../../entities/automations/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { findImages, imageIdsOf, judgedImages, type LibraryImages } from '../../campaigns/drafts/images.ts';
import { conditionProblems, idsNamedIn, knownIds, type KnownIds } from '../../conditions/problems.ts';
import { judgeEmails } from '../../mail/content/email-work.ts';
import { firstOf, type ContentProblem, type FoundProblems } from '../../mail/content/problems.ts';
import {
  conditionsOf,
  placedSteps,
  stepKinds,
  triggerLists,
  type Definition,
  type PlacedStep,
  type Step,
  type StepKind,
  type TriggerList,
  type Wait,
} from './definition.policy.ts';

export interface Problem {
  /** The JSON path of the problem, such as `$.steps[2].then[0].tag_id`. */
  path: string;
  code: string;
  message: string;
}

const missing = (path: string, what: string): Problem => ({
  path,
  code: 'missing_field',
  message: `The ${what} is missing.`,
});

/** @throws DomainError invalid_definition if the draft has problems. The message names the first problem */
export async function requireNoProblems(db: Queries, clubId: Id, draft: Definition): Promise<void> {
  const [problem] = (await problemsOf(db, clubId, draft)).problems;
  if (problem)
    throw new DomainError(
      'invalid_definition',
      `The draft has problems, listed under \`problems\`: ${problem.path}: ${problem.message}`,
    );
}

/** @returns the first problems, in the order of the definition, and the number of all problems @throws DomainError busy */
export async function problemsOf(db: Queries, clubId: Id, definition: Definition): Promise<FoundProblems<Problem>> {
  const steps = placedSteps(definition);
  const existingIds = await knownIds(
    db,
    clubId,
    idsNamed(definition).map(({ id }) => id),
  );
  const mediaIds = steps.flatMap(({ step: { email } }) => (email ? imageIdsOf(email) : []));
  const ofEmails = await judgedEmails(clubId, steps, await findImages(db, clubId, mediaIds));
  const mails = steps.some(({ step }) => step.kind === 'send_email');
  const hasSender = !mails || (await db.manager.existsBy(MailSender, { clubId }));
  const emailSteps = new Set(steps.filter(({ step }) => step.kind === 'send_email').map(({ step }) => step.id));
  const { problems, count } = firstOf<Problem>([
    ...triggerProblems(definition, existingIds),
    ...(definition.exit_when
      ? conditionProblems(definition.exit_when, {
          path: '$.exit_when',
          known: existingIds,
          mayBeEmpty: false,
          emailSteps,
        })
      : []),
    ...(steps.length === 0 ? [missing('$.steps', 'first step')] : []),
    ...orderProblems(steps),
    ...steps.flatMap((placed) =>
      stepProblems(placed, { known: existingIds, ofEmails, emailSteps: emailsBefore(placed, steps) }),
    ),
    ...(hasSender
      ? []
      : [
          {
            path: '$',
            code: 'missing_sender',
            message: 'The club has no sender: set the name and the address of its e-mails first.',
          },
        ]),
  ]);
  const undescribed = [...ofEmails.values()].reduce((sum, found) => sum + found.count - found.problems.length, 0);
  return { problems, count: count + undescribed };
}

/** @returns the problems of each step's e-mail, by the step's path */
async function judgedEmails(
  clubId: Id,
  steps: readonly PlacedStep[],
  library: LibraryImages,
): Promise<ReadonlyMap<string, FoundProblems<ContentProblem>>> {
  const images = judgedImages(library);
  const emails = steps.flatMap(({ step, path }) =>
    step.email !== undefined && step.kind === 'send_email'
      ? [{ stepPath: path, content: step.email, path: `${path}.email` }]
      : [],
  );
  const results = await judgeEmails(
    clubId,
    emails.map(({ content, path }) => ({ content, path, ...images })),
  );
  return new Map(emails.map(({ stepPath }, index) => [stepPath, results[index] ?? { problems: [], count: 0 }]));
}

const namedBy: Readonly<Record<TriggerList, ReferredKind>> = {
  delivery_ids: 'delivery',
  product_ids: 'product',
  course_ids: 'course',
  lesson_ids: 'lesson',
  tag_ids: 'tag',
  level_ids: 'level',
};

/** @returns the kind and the id of each record that the definition names, each once */
export function idsNamed(definition: Definition): { named: ReferredKind; id: string }[] {
  const all = [
    ...triggerLists.flatMap((list) => (definition.trigger[list] ?? []).map((id) => ({ named: namedBy[list], id }))),
    ...idsNamedIn(conditionsOf(definition).map(({ condition }) => condition)),
    ...placedSteps(definition).flatMap(({ step: { tag_id: id } }) =>
      id === undefined ? [] : [{ named: 'tag' as const, id }],
    ),
  ];
  return [...new Map(all.map((one) => [`${one.named}:${one.id}`, one])).values()];
}

const listsOf: Readonly<Record<TriggerKind, readonly TriggerList[]>> = {
  student_created: [],
  manual: [],
  access_granted: ['delivery_ids', 'course_ids', 'product_ids'],
  access_revoked: ['delivery_ids', 'course_ids', 'product_ids'],
  purchase_paid: ['product_ids'],
  purchase_refunded: ['product_ids'],
  subscription_past_due: ['product_ids'],
  subscription_canceled: ['product_ids'],
  lesson_completed: ['lesson_ids', 'course_ids'],
  course_completed: ['course_ids'],
  certificate_issued: ['course_ids'],
  student_tagged: ['tag_ids'],
  student_untagged: ['tag_ids'],
  student_level_reached: ['level_ids'],
};

function triggerProblems({ trigger, exit_on_access_lost: exits }: Definition, known: KnownIds): Problem[] {
  const listProblems = triggerLists.flatMap((list): Problem[] => {
    const ids = trigger[list];
    if (ids === undefined) return [];
    const path = `$.trigger.${list}`;
    if (!listsOf[trigger.kind].includes(list))
      return [
        {
          path,
          code: 'field_of_another_kind',
          message: `The trigger ${trigger.kind} must not have the field ${list}.`,
        },
      ];
    return ids.flatMap((id, index) =>
      known.has(`${namedBy[list]}:${id}`) ? [] : [unknownId(`${path}[${index}]`, namedBy[list])],
    );
  });
  const contradiction = {
    path: '$.exit_on_access_lost',
    code: 'exits_at_once',
    message: 'Students enter when their access is revoked, so each run would end immediately.',
  };
  return trigger.kind === 'access_revoked' && exits ? [...listProblems, contradiction] : listProblems;
}

const unknownId = (path: string, named: ReferredKind): Problem => ({
  path,
  code: 'unknown_id',
  message: `There is no ${named} with this id in the club.`,
});

/** Finds step ids that occur twice, and steps that no run can reach. */
function orderProblems(steps: readonly PlacedStep[]): Problem[] {
  const seenIds = new Set<string>();
  const exits = new Set<string>();
  return steps.flatMap(({ step, path }) => {
    const list = path.slice(0, path.lastIndexOf('['));
    const isTwice = seenIds.has(step.id);
    seenIds.add(step.id);
    const isBehindExit = exits.has(list);
    if (step.kind === 'exit') exits.add(list);
    return [
      ...(step.id.trim() === '' ? [missing(`${path}.id`, 'id')] : []),
      ...(isTwice ? [{ path: `${path}.id`, code: 'duplicate_id', message: 'Another step has this id.' }] : []),
      ...(isBehindExit
        ? [
            {
              path,
              code: 'unreachable_step',
              message: 'No run reaches this step, because an earlier step ends the run.',
            },
          ]
        : []),
    ];
  });
}

/**
 * @returns the steps whose e-mail may have been sent before the run reaches this step: all earlier steps, except in branches that the run
 * cannot have taken
 */
function emailsBefore(placed: PlacedStep, steps: readonly PlacedStep[]): Set<string> {
  const byId = new Map(steps.map((one) => [one.step.id, one]));
  /** The branch of each outer step that contains this step. */
  const branchOf = new Map<string, string>();
  for (let at = placed; at.parent;) {
    branchOf.set(at.parent.id, at.parent.branch);
    const around = byId.get(at.parent.id);
    if (!around || around.number >= at.number) break;
    at = around;
  }
  const isInOtherBranch = (one: PlacedStep) => {
    for (let at = one; at.parent;) {
      const { id, branch } = at.parent;
      if (branchOf.has(id) && branchOf.get(id) !== branch) return true;
      const around = byId.get(id);
      if (!around || around.number >= at.number) break;
      at = around;
    }
    return false;
  };
  return new Set(
    steps
      .filter((one) => one.step.kind === 'send_email' && one.number < placed.number && !isInOtherBranch(one))
      .map(({ step }) => step.id),
  );
}

const fields = ['points', 'tag_id', 'email', 'wait', 'condition', 'then', 'else'] as const;
type Field = (typeof fields)[number];

const fieldsOf: Readonly<Record<StepKind, Readonly<Partial<Record<Field, 'required' | 'optional'>>>>> = {
  send_email: { email: 'required' },
  wait: { wait: 'required' },
  condition: { condition: 'required', then: 'optional', else: 'optional' },
  add_tag: { tag_id: 'required' },
  remove_tag: { tag_id: 'required' },
  award_points: { points: 'required' },
  exit: {},
};

/** A step that waits for a condition needs the fields of a wait and the fields of a condition. */
const fieldsOfStep = ({ kind, wait }: Step) =>
  kind === 'wait' && wait?.kind === 'until_condition' ? { ...fieldsOf.condition, ...fieldsOf.wait } : fieldsOf[kind];

interface Around {
  known: KnownIds;
  /** The problems of each step's e-mail, by the JSON path of the step. */
  ofEmails: ReadonlyMap<string, FoundProblems<ContentProblem>>;
  emailSteps: ReadonlySet<string>;
}

function stepProblems({ step, path }: PlacedStep, { known, ofEmails, emailSteps }: Around): Problem[] {
  if (!stepKinds.includes(step.kind))
    return [{ path: `${path}.kind`, code: 'unknown_kind', message: 'This kind of step does not exist.' }];
  const allowed = fieldsOfStep(step);
  const shape = fields.flatMap((field): Problem[] => {
    const need = allowed[field];
    if (need === undefined)
      return step[field] === undefined
        ? []
        : [
            {
              path: `${path}.${field}`,
              code: 'field_of_another_kind',
              message: `A step ${step.kind} of this kind must not have the field ${field}.`,
            },
          ];
    return need === 'required' && step[field] === undefined ? [missing(`${path}.${field}`, field)] : [];
  });
  const { tag_id: tagId, points, wait, condition } = step;
  return [
    ...shape,
    ...(tagId !== undefined && 'tag_id' in allowed && !known.has(`tag:${tagId}`)
      ? [unknownId(`${path}.tag_id`, 'tag')]
      : []),
    ...(points === 0 && 'points' in allowed
      ? [{ path: `${path}.points`, code: 'no_points', message: '0 points have no effect.' }]
      : []),
    ...(wait !== undefined && 'wait' in allowed ? waitProblems(wait, `${path}.wait`) : []),
    ...(condition !== undefined && 'condition' in allowed
      ? conditionProblems(condition, { path: `${path}.condition`, known, mayBeEmpty: false, emailSteps })
      : []),
    ...(step.kind === 'condition' && (step.then ?? []).length === 0 && (step.else ?? []).length === 0
      ? [{ path, code: 'empty_branches', message: 'Both branches are empty, so the condition has no effect.' }]
      : []),
    ...(ofEmails.get(path)?.problems ?? []),
  ];
}

const waitFields = ['amount', 'unit', 'days'] as const;
const fieldsOfWait: Readonly<
  Record<Wait['kind'], Readonly<Partial<Record<(typeof waitFields)[number], 'required' | 'optional'>>>>
> = {
  delay: { amount: 'required', unit: 'required' },
  until_time: { amount: 'required', unit: 'optional', days: 'optional' },
  until_condition: { days: 'required' },
};

function waitProblems(wait: Wait, path: string): Problem[] {
  const allowed = fieldsOfWait[wait.kind];
  const shape = waitFields.flatMap((field): Problem[] => {
    const need = allowed[field];
    if (need === undefined)
      return wait[field] === undefined
        ? []
        : [
            {
              path: `${path}.${field}`,
              code: 'field_of_another_kind',
              message: `A wait ${wait.kind} must not have the field ${field}.`,
            },
          ];
    return need === 'required' && wait[field] === undefined ? [missing(`${path}.${field}`, field)] : [];
  });
  const invalid = (field: string, message: string) => ({ path: `${path}.${field}`, code: 'invalid_wait', message });
  return [
    ...shape,
    ...(wait.kind === 'delay' && wait.amount === 0
      ? [invalid('amount', 'The delay is 0. It must be at least 1.')]
      : []),
    ...(wait.kind === 'until_condition' && wait.days === 0
      ? [invalid('days', 'The wait is 0 days. It must be at least 1 day.')]
      : []),
    ...(wait.kind === 'until_time' && wait.unit !== undefined && wait.unit !== 'minutes'
      ? [invalid('unit', 'The unit of a time of day must be minutes.')]
      : []),
  ];
}
