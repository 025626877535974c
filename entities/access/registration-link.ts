/** A link that grants access to the students who claim it, until it expires, is revoked or is used up. */
import { Check, Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';

@Entity('registration_links')
@Check('registration_links_code', `code ~ '^[A-Za-z0-9_-]{1,64}$' AND folded_code = lower(code)`)
@Check('registration_links_uses', `uses >= 0 AND max_uses > 0`)
@Index('registration_links_club_code', ['clubId', 'foldedCode'], { unique: true })
@Index('registration_links_club', ['clubId', 'createdAt', 'id'])
export class RegistrationLink {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid' })
  clubId: string;

  /** The code of the link, as it was chosen. Codes are compared without the case of letters. */
  @Column({ type: 'text' })
  code: string;

  @Column({ type: 'text' })
  foldedCode: string;

  @Column({ type: 'text' })
  name: string;

  /** The maximum number of claims. Null if the number is not limited. */
  @Column({ type: 'integer', nullable: true })
  maxUses: number | null;

  @Column({ type: 'integer', default: 0 })
  uses: number;

  @Column({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;

  @Column({ type: 'timestamptz' })
  createdAt: Date;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  /** The time of the last change of the row that a list shows (CUR-6). A trigger writes it. */
  @Column({ type: 'timestamptz', default: () => 'now()', select: false, insert: false, update: false })
  changedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
