/** A URL at which a club receives signed messages, with its recent successes and failures (WEP-7). */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { disabledReasons, endpointStatuses, type DisabledReason, type EndpointStatus } from './values.ts';
import type { EventType } from '../../platform/core/event-types.ts';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';

@Entity('webhook_endpoints')
@Index('webhook_endpoints_club', ['clubId', 'createdAt', 'id'])
@Check('webhook_endpoints_status', oneOf('status', endpointStatuses))
@Index('webhook_endpoints_gate', ['gateLooksAt'], { where: 'gate_looks_at IS NOT NULL' })
@Index('webhook_endpoints_rotated', ['previousSecretExpiresAt'], { where: 'previous_secret IS NOT NULL' })
/** The migration creates the indexes of sealed values. */
@Index('webhook_endpoints_secret_key', { synchronize: false })
@Index('webhook_endpoints_previous_secret_key', { synchronize: false })
@Check('webhook_endpoints_disabled_reason', oneOf('disabled_reason', disabledReasons))
export class WebhookEndpoint {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'text' })
  url: string;

  @Column({ type: 'text', nullable: true })
  description: string | null;

  @Column({ type: 'text', array: true })
  eventTypes: EventType[];

  @Column({ type: 'text', default: 'enabled' })
  status: EndpointStatus;

  @Column({ type: 'text', nullable: true })
  disabledReason: DisabledReason | null;

  @Column({ type: 'timestamptz', nullable: true })
  disabledAt: Date | null;

  @Column({ type: 'integer', default: 0 })
  consecutiveFailures: number;

  @Column({ type: 'timestamptz', nullable: true })
  failingSince: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  holdUntil: Date | null;

  /**
   * The number of times that the circuit breaker was armed without a reset. 0 means that the breaker is closed. A higher number means that
   * the endpoint is throttled (breaker.policy.ts).
   */
  @Column({ type: 'smallint', default: 0 })
  breakerStep: number;

  /**
   * The epoch of the breaker. It increases when the breaker is armed or reset. If an attempt was claimed in an earlier epoch, its failure
   * does not arm the breaker.
   */
  @Column({ type: 'integer', default: 0 })
  breakerEpoch: number;

  /** The time at which the breaker was first armed since its last reset. Null while the breaker is closed. */
  @Column({ type: 'timestamptz', nullable: true })
  throttledSince: Date | null;

  /** The time at which the administrators got the mail about the throttled endpoint. They get the mail after an hour of throttling. */
  @Column({ type: 'timestamptz', nullable: true })
  throttleMailedAt: Date | null;

  /** The one parked delivery that the gate has admitted while the breaker throttles the endpoint. */
  @Column({ type: 'uuid', nullable: true })
  admittedDeliveryId: string | null;

  /** The time at which the gate next checks the endpoint. Null if no gate must run. */
  @Column({ type: 'timestamptz', nullable: true })
  gateLooksAt: Date | null;

  /** The number of parked deliveries that the gate released the last time. 0 while the gate releases no deliveries. */
  @Column({ type: 'smallint', default: 0 })
  releasePage: number;

  /** The time at which the endpoint was last enabled again after it was paused or disabled. Null if this never happened. */
  @Column({ type: 'timestamptz', nullable: true })
  enabledAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  lastSuccessAt: Date | null;

  /** The signing secret, sealed with the endpoint's id as its context. */
  @Column({ type: 'bytea' })
  secret: Buffer;

  @Column({ type: 'bytea', nullable: true })
  previousSecret: Buffer | null;

  @Column({ type: 'timestamptz', nullable: true })
  previousSecretExpiresAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last write of the row, never before `updatedAt` (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  /** The time of the deletion. Responses never contain a deleted endpoint. Retention removes the history of the endpoint in batches. */
  @Column({ type: 'timestamptz', nullable: true })
  @Index('webhook_endpoints_deleted', { where: 'deleted_at IS NOT NULL' })
  deletedAt: Date | null;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
