/** Finds the problems of a condition. The condition of a draft may have some, but then selects no student (CAMP-11). */
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { ReferredKind } from '../../entities/automations/values.ts';
import { conditionRules } from './bounds.policy.ts';
import type { Condition, Rule, RuleKind } from './conditions.ts';

export interface ConditionProblem {
  /** The JSON path of the problem, such as `$.audience.rules[2].tag_ids[0]`. */
  path: string;
  code: 'missing_field' | 'field_of_another_kind' | 'too_many' | 'unknown_id' | 'rule_not_here' | 'no_rules';
  message: string;
}

const idLists = ['delivery_ids', 'cohort_ids', 'product_ids', 'tag_ids'] as const;
const fields = [...idLists, 'lesson_id', 'course_id', 'percent', 'step_id'] as const;
type Field = (typeof fields)[number];

const fieldsOf: Readonly<Record<RuleKind, Readonly<Partial<Record<Field, 'required' | 'optional'>>>>> = {
  has_access: { delivery_ids: 'optional', cohort_ids: 'optional', course_id: 'optional' },
  has_purchased: { product_ids: 'optional' },
  has_tag: { tag_ids: 'required' },
  lesson_completed: { lesson_id: 'required' },
  course_completed: { course_id: 'required' },
  course_progress: { course_id: 'required', percent: 'required' },
  email_opened: { step_id: 'required' },
  email_clicked: { step_id: 'required' },
};

/** The kind of record that the ids of each field name. */
const tableOf = {
  delivery_ids: 'delivery',
  cohort_ids: 'cohort',
  product_ids: 'product',
  tag_ids: 'tag',
  lesson_id: 'lesson',
  course_id: 'course',
} as const;

/** The ids that exist in a club, each with the kind of its record. */
export type KnownIds = ReadonlySet<`${ReferredKind}:${string}`>;

/** @returns the ids in the conditions that name an existing record of the club */
export async function knownIdsIn(db: Queries, clubId: Id, conditions: readonly Condition[]): Promise<KnownIds> {
  return knownIds(
    db,
    clubId,
    idsNamedIn(conditions).map(({ id }) => id),
  );
}

/** @returns every id in these conditions, with the kind of record that the id must name */
export function idsNamedIn(conditions: readonly Condition[]): { named: ReferredKind; id: string }[] {
  return conditions.flatMap(({ rules }) =>
    rules.flatMap((rule) => idsOf(rule).map(({ named, id }) => ({ named, id }))),
  );
}

/** @returns the candidates that name an existing record of the club, with the kind of the record */
export async function knownIds(db: Queries, clubId: Id, candidates: readonly string[]): Promise<KnownIds> {
  const ids = [...new Set(candidates)];
  if (ids.length === 0) return new Set();
  const rows = await db.rows<{ named: ReferredKind; id: string }>(sql`
    SELECT 'delivery' AS named, id FROM access_deliveries WHERE club_id = ${clubId} AND id = ANY(${ids})
    UNION ALL SELECT 'cohort', id FROM cohorts WHERE club_id = ${clubId} AND id = ANY(${ids})
    UNION ALL SELECT 'product', id FROM products WHERE club_id = ${clubId} AND id = ANY(${ids})
    UNION ALL SELECT 'tag', id FROM tags WHERE club_id = ${clubId} AND id = ANY(${ids}) AND removed_at IS NULL
    UNION ALL SELECT 'lesson', id FROM lessons WHERE club_id = ${clubId} AND id = ANY(${ids}) AND removed_at IS NULL
    UNION ALL SELECT 'course', id FROM courses WHERE club_id = ${clubId} AND id = ANY(${ids})
    UNION ALL SELECT 'level', id FROM levels WHERE club_id = ${clubId} AND id = ANY(${ids}) AND removed_at IS NULL`);
  return new Set(rows.map(({ named, id }) => `${named}:${id}` as const));
}

interface NamedId {
  /** The path inside the rule, appended to the path of the rule. */
  at: string;
  named: ReferredKind;
  id: string;
}

function idsOf(rule: Rule): NamedId[] {
  const lists = idLists.flatMap((field) =>
    (rule[field] ?? []).map((id, index) => ({ at: `${field}[${index}]`, named: tableOf[field], id })),
  );
  const single = (['lesson_id', 'course_id'] as const).flatMap((field) => {
    const id = rule[field];
    return id === undefined ? [] : [{ at: field, named: tableOf[field], id }];
  });
  return [...lists, ...single];
}

export interface Place {
  path: string;
  known: KnownIds;
  /** Whether the condition may have no rules, and so be true for all students. */
  mayBeEmpty: boolean;
  /** The steps with an e-mail that a rule may name. Absent if rules about e-mails are not allowed. */
  emailSteps?: ReadonlySet<string>;
}

/** @returns all problems, in the order of the condition */
export function conditionProblems({ match, rules }: Condition, place: Place): ConditionProblem[] {
  const at = `${place.path}.rules`;
  if (rules.length === 0)
    return place.mayBeEmpty && match === 'all'
      ? []
      : [{ path: at, code: 'no_rules', message: 'The condition has no rules.' }];
  return [
    ...(rules.length > conditionRules.rules
      ? [{ path: at, code: 'too_many' as const, message: `The condition has more than ${conditionRules.rules} rules.` }]
      : []),
    ...rules.flatMap((rule, index) => ruleProblems(rule, { ...place, path: `${at}[${index}]` })),
  ];
}

function ruleProblems(rule: Rule, { path, known, emailSteps }: Place): ConditionProblem[] {
  const isAboutMail = rule.kind === 'email_opened' || rule.kind === 'email_clicked';
  if (isAboutMail && emailSteps === undefined)
    return [
      { path, code: 'rule_not_here', message: 'Rules about e-mails are allowed only in steps of an automation.' },
    ];
  return fields.flatMap((field): ConditionProblem[] => {
    const need = fieldsOf[rule.kind][field];
    const value = rule[field];
    const at = `${path}.${field}`;
    if (need === undefined)
      return value === undefined
        ? []
        : [
            {
              path: at,
              code: 'field_of_another_kind',
              message: `A rule of the kind ${rule.kind} must not have the field ${field}.`,
            },
          ];
    if (value === undefined || (need === 'required' && Array.isArray(value) && value.length === 0))
      return need === 'required' ? [{ path: at, code: 'missing_field', message: `The rule has no ${field}.` }] : [];
    if (field === 'step_id')
      return emailSteps?.has(value as string)
        ? []
        : [{ path: at, code: 'unknown_id', message: 'No earlier step with this id sends an e-mail.' }];
    if (Array.isArray(value) && value.length > conditionRules.ids)
      return [{ path: at, code: 'too_many', message: `The list has more than ${conditionRules.ids} ids.` }];
    return idsOf({ kind: rule.kind, negate: false, [field]: value })
      .filter(({ named, id }) => !known.has(`${named}:${id}`))
      .map((unknown) => ({
        path: `${path}.${unknown.at}`,
        code: 'unknown_id' as const,
        message: `There is no ${unknown.named} with this id in the club.`,
      }));
  });
}
