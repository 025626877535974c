/** A change, or a read of sensitive data, by an administrator or a program (AUD-1). A trigger refuses updates and early deletions. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { auditActors, type AuditActor, type AuditedRecord } from './values.ts';

@Entity('audit_entries')
@Index('audit_entries_club', ['clubId', 'createdAt', 'id'])
@Index('audit_entries_actor', ['clubId', 'actorId', 'createdAt', 'id'])
@Index('audit_entries_age', ['createdAt'])
/** The migration creates this index: the ids of the named records. */
@Index('audit_entries_records', { synchronize: false })
@Check('audit_entries_actor_kind', oneOf('actor_kind', auditActors))
export class AuditEntry {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'audit_entries_pkey' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'text' })
  actorKind: AuditActor;

  /** The id of the administrator or of the API key, which may not exist any more; of an operator, the id of the command's run. */
  @Column({ type: 'uuid' })
  actorId: string;

  /** The `operationId` of the contract. */
  @Column({ type: 'text' })
  operation: string;

  /** The records that the request named, and the record that it created. They contain ids, and no other data. */
  @Column({ type: 'jsonb' })
  records: AuditedRecord[];

  /** The names of the fields in the body of the request, in alphabetical order. Their values are never stored. */
  @Column({ type: 'text', array: true })
  fields: string[];

  /** The id of the request, which the logs of the service contain, too. */
  @Column({ type: 'text' })
  requestId: string;

  /** The network of the caller: the /24 of an IPv4 address, the /48 of an IPv6 address. */
  @Column({ type: 'text' })
  network: string;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ foreignKeyConstraintName: 'audit_entries_club_id_fkey' })
  club: Relation<Club>;
}
