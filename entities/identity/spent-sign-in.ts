/** A sign-in at an identity provider whose token was used. Each token is good for one exchange (OIDC-2). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('spent_sign_ins')
@Index('spent_sign_ins_expiry', ['expiresAt'])
export class SpentSignIn {
  /** The id in the token. */
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'spent_sign_ins_pkey' })
  id: string;

  /** The time at which the token expires. Then the row is not needed any more. */
  @Column({ type: 'timestamptz' })
  expiresAt: Date;
}
