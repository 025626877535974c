/** A domain of a club, from which the club's mails are sent, and whether DNS proves that the domain belongs to the club. */
import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import { oneOf } from '../one-of.ts';
import { domainStatuses, type DomainStatus } from './values.ts';

@Entity('mail_domains')
@Check('mail_domains_status', oneOf('status', domainStatuses))
@Check('mail_domains_proven', `status = 'unproven' OR first_proven_at IS NOT NULL`)
/** A migration creates this index on the sealed values, so TypeORM must not create it. */
@Index('mail_domains_private_key_key', { synchronize: false })
@Index('mail_domains_due', ['looksAt'])
export class MailDomain {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'mail_domains_key' })
  id: string;

  @Column({ type: 'uuid' })
  @Index('mail_domains_club', { unique: true })
  clubId: string;

  /** The domain in the form of DNS: ASCII in lower case. */
  @Column({ type: 'text' })
  domain: string;

  /** The part of the sender's address before the `@`. */
  @Column({ type: 'text' })
  localPart: string;

  /** The DKIM selector: the name of the key in DNS. */
  @Column({ type: 'text' })
  selector: string;

  /** The public key: SPKI in base64, as it is published. */
  @Column({ type: 'text' })
  publicKey: string;

  /** The private key that signs mails: PKCS#8 in PEM. It is sealed, with the row's id as its context. */
  @Column({ type: 'bytea' })
  sealedPrivateKey: Buffer;

  @Column({ type: 'text', default: 'unproven' })
  status: DomainStatus;

  @Column({ type: 'timestamptz' })
  statusSince: Date;

  /** The time at which the domain was first proven. The warm-up of the domain begins at this time. */
  @Column({ type: 'timestamptz', nullable: true })
  firstProvenAt: Date | null;

  /** The state of each kind of DNS record, according to the last answer of the name servers. */
  @Column({ type: 'jsonb', default: {} })
  found: object;

  /** The time at which name servers last answered. */
  @Column({ type: 'timestamptz', nullable: true })
  answeredAt: Date | null;

  /** The time at which name servers were last queried. */
  @Column({ type: 'timestamptz', nullable: true })
  checkedAt: Date | null;

  /** The time at which the domain's run next queries the name servers. */
  @Column({ type: 'timestamptz' })
  looksAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'club_id', foreignKeyConstraintName: 'mail_domains_of_club' })
  club: Relation<Club>;
}
