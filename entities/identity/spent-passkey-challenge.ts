/** A challenge that a valid passkey has answered. Its row refuses a second answer (PKY-3). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('spent_passkey_challenges')
export class SpentPasskeyChallenge {
  /** SHA-256 of the challenge. */
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'spent_passkey_challenges_pkey' })
  challengeHash: Buffer;

  /** After this time the challenge is refused without its row. */
  @Column({ type: 'timestamptz' })
  @Index('spent_passkey_challenges_expiry')
  expiresAt: Date;
}
