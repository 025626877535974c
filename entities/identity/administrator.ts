/** A person who administers clubs from the dashboard. The row of an erased account stays, but without the name and the address. */
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The name that records show for an erased account, as for a removed student. Mails and digests leave such a name out, so no catalogue has
 * it.
 */
export const removedAdministratorName = 'Removed administrator';

@Entity('administrators')
@Check('administrators_removed_is_anonymous', '(removed_at IS NULL) = (email IS NOT NULL)')
@Check(
  'administrators_removed_has_no_data',
  `removed_at IS NULL
        OR num_nonnulls(password_hash, verified_at, language, phone, phone_verified_at, avatar_key) = 0 AND NOT has_second_factor`,
)
export class Administrator {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  name: string;

  /** The case-folded e-mail address. It is unique in the whole service. Null after the account was erased. */
  @Column({ type: 'text', unique: true, nullable: true })
  email: string | null;

  /**
   * The hash of the password: argon2id, in PHC form. Null until the administrator has confirmed an e-mail. Before that, a one-time token
   * stores the hash.
   */
  @Column({ type: 'text', nullable: true })
  passwordHash: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  verifiedAt: Date | null;

  /** The BCP 47 tag of the language in which the service writes to this person. Null if the club's language applies. */
  @Column({ type: 'text', nullable: true })
  language: string | null;

  /** The telephone number in E.164, such as `+351912345678`. */
  @Column({ type: 'text', nullable: true })
  phone: string | null;

  /** The time at which the administrator entered a code that was sent to the number. A change of the number sets it to null. */
  @Column({ type: 'timestamptz', nullable: true })
  phoneVerifiedAt: Date | null;

  /** Whether the account has a second factor. It is written together with the factors, so that a session check needs no join. */
  @Column({ type: 'boolean', default: false })
  hasSecondFactor: boolean;

  /** The key of the picture in the object store. Null if the administrator has no picture. */
  @Column({ type: 'text', nullable: true })
  avatarKey: string | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  /** The time at which the person erased the account. No session, membership or factor refers to the row afterwards (ERS-44). */
  @Column({ type: 'timestamptz', nullable: true })
  removedAt: Date | null;
}
