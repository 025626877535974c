/** A club: the organization that sells courses and a community. Its id is the `{clubId}` of every scoped path. */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { planNames, type PlanName } from '../billing/values.ts';
import type { Language } from './values.ts';
import { oneOf } from '../one-of.ts';

@Entity('clubs')
@Check('clubs_language', `language ~ '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$'`)
@Check('clubs_opening_plan', oneOf('opening_plan', planNames))
@Check('clubs_ai_monthly_limit', 'ai_monthly_limit >= 0')
export class Club {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  name: string;

  /** Part of the classroom's address; unique over all clubs. */
  @Column({ type: 'text', unique: true })
  slug: string;

  /** IANA name; the month of the AI budget and local-time waits are counted in it. */
  @Column({ type: 'text', default: 'UTC' })
  timeZone: string;

  /** In which the service writes to its people, and by whose rules the words of its material are searched. */
  @Column({ type: 'text', default: 'en' })
  language: Language;

  /** What the club lets its agents cost in a month, in cents (US dollars), below its plan's budget; null for all of that. */
  @Column({ type: 'integer', nullable: true })
  aiMonthlyLimit: number | null;

  /** The plan that it opened with, which it has until billing says otherwise (DEC-20). */
  @Column({ type: 'text', default: 'professional' })
  openingPlan: PlanName;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
