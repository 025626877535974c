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

  /** The slug, which is a part of the classroom's host name. It is unique among all clubs. */
  @Column({ type: 'text', unique: true })
  slug: string;

  /**
   * The IANA name of the club's time zone. This zone decides when the month of the AI budget begins, and the local time at which waits end.
   */
  @Column({ type: 'text', default: 'UTC' })
  timeZone: string;

  /**
   * The language in which the service writes to the people of the club. The search in the club's material also uses the rules of this
   * language.
   */
  @Column({ type: 'text', default: 'en' })
  language: Language;

  /**
   * The monthly limit that the club has chosen for the cost of its agents, in cents (US dollars). It is below the budget of the plan. Null
   * if the club uses the whole budget.
   */
  @Column({ type: 'integer', nullable: true })
  aiMonthlyLimit: number | null;

  /** The plan that a club gets at its creation. It applies until billing sets a different plan (DEC-20). */
  @Column({ type: 'text', default: 'professional' })
  openingPlan: PlanName;

  /**
   * The time from which the club's log has every event (EVT-23): when the first endpoint was created or the log was first read. Until then
   * this is null, and the log has only events with a subscribed endpoint.
   */
  @Column({ type: 'timestamptz', nullable: true })
  eventsLoggedSince: Date | null;

  /** When the erasure of the club began. From then on every request gets the answer for a missing club, and a run deletes the rows (ADR 88). */
  @Column({ type: 'timestamptz', nullable: true })
  erasingAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;
}
