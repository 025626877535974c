/**
 * Turns conditions on students into SQL. A condition selects the audience of a campaign, or decides at a step of an automation. Conditions
 * are stored and returned in the form of the API contract, so their fields have the names of the contract.
 */
import { all, raw, sql, type Sql } from '../../platform/infra/postgres/sql.ts';

export const ruleKinds = [
  'has_access',
  'has_purchased',
  'has_tag',
  'lesson_completed',
  'course_completed',
  'course_progress',
  'email_opened',
  'email_clicked',
] as const;
export type RuleKind = (typeof ruleKinds)[number];

export interface Rule {
  kind: RuleKind;
  negate: boolean;
  delivery_ids?: readonly string[];
  cohort_ids?: readonly string[];
  product_ids?: readonly string[];
  tag_ids?: readonly string[];
  lesson_id?: string;
  course_id?: string;
  percent?: number;
  step_id?: string;
}

export interface Condition {
  match: 'all' | 'any';
  rules: readonly Rule[];
}

/** The values that the SQL of a condition needs from the query that contains it. */
export interface ConditionContext {
  /** The student's id in the statement, such as `` sql`student.id` ``. */
  student: Sql;
  now: Date;
  /** Rules about e-mails check the e-mails of this automation run. Without a run, these rules are false. */
  runId?: string;
}

/**
 * @param condition without problems (`conditionProblems`)
 * @returns the condition as SQL. For each student, a rule needs one look-up in an index
 */
export function meets({ match, rules }: Condition, context: ConditionContext): Sql {
  if (rules.length === 0) return raw(match === 'all' ? 'TRUE' : 'FALSE');
  const each = rules.map((rule) => answer(rule, context));
  return sql`(${each.reduce((left, right) => (match === 'all' ? sql`${left} AND ${right}` : sql`${left} OR ${right}`))})`;
}

/** @returns the rule as SQL. If the rule is negated, the SQL is negated, too */
function answer(rule: Rule, context: ConditionContext): Sql {
  return rule.negate ? sql`NOT ${holds(rule, context)}` : holds(rule, context);
}

function holds(rule: Rule, { student, now, runId }: ConditionContext): Sql {
  switch (rule.kind) {
    case 'has_access':
      // The rule is true if one enrollment of the student is valid now and matches every field of the rule.
      return sql`EXISTS (SELECT FROM enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id
        WHERE ${all([
          sql`enrollment.student_id = ${student} AND enrollment.revoked_at IS NULL AND enrollment.starts_at <= ${now}
            AND (enrollment.ends_at IS NULL OR enrollment.ends_at > ${now})`,
          isOneOf('enrollment.delivery_id', rule.delivery_ids),
          isOneOf('enrollment.cohort_id', rule.cohort_ids),
          rule.course_id === undefined ? undefined : sql`delivery.course_id = ${rule.course_id}`,
        ])})`;
    case 'has_purchased':
      return sql`EXISTS (SELECT FROM purchases purchase WHERE ${all([
        sql`purchase.student_id = ${student} AND purchase.status = 'paid'`,
        isOneOf('purchase.product_id', rule.product_ids),
      ])})`;
    case 'has_tag':
      return sql`EXISTS (SELECT FROM student_tags tagged JOIN tags tag ON tag.id = tagged.tag_id AND tag.removed_at IS NULL
        WHERE ${all([sql`tagged.student_id = ${student}`, isOneOf('tagged.tag_id', rule.tag_ids)])})`;
    case 'lesson_completed':
      return sql`EXISTS (SELECT FROM lesson_progress progress
        WHERE progress.student_id = ${student} AND progress.lesson_id = ${rule.lesson_id} AND progress.completed)`;
    case 'course_completed':
      return sql`EXISTS (SELECT FROM course_completions completion
        WHERE completion.student_id = ${student} AND completion.course_id = ${rule.course_id})`;
    case 'course_progress':
      // Rounded down. A course without published lessons has 0 percent.
      return sql`coalesce((SELECT 100 * count(*) FILTER (WHERE progress.completed) / nullif(count(*), 0)
         FROM lessons lesson LEFT JOIN lesson_progress progress ON progress.lesson_id = lesson.id AND progress.student_id = ${student}
        WHERE lesson.course_id = ${rule.course_id} AND lesson.published_at IS NOT NULL), 0) >= ${rule.percent}`;
    case 'email_opened':
    case 'email_clicked': {
      if (runId === undefined) return raw('FALSE');
      const at = raw(rule.kind === 'email_opened' ? 'opened_at' : 'clicked_at');
      return sql`EXISTS (SELECT FROM mails mail WHERE mail.run_id = ${runId} AND mail.step_id = ${rule.step_id} AND mail.${at} IS NOT NULL)`;
    }
  }
}

/** An absent or empty list matches every id. */
const isOneOf = (column: string, ids: readonly string[] | undefined) =>
  ids === undefined || ids.length === 0 ? undefined : sql`${raw(column)} = ANY(${ids})`;
