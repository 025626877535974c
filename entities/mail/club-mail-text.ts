/** A club's own text of a transactional mail, in one language. Without a row, the mail has the text of the catalogue. */
import { Column, Entity, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Club } from '../clubs/club.ts';
import type { MailTemplate } from './values.ts';

@Entity('club_mail_texts')
export class ClubMailText {
  @PrimaryColumn({ type: 'uuid' })
  clubId: string;

  @PrimaryColumn({ type: 'text' })
  template: MailTemplate;

  /** BCP 47 tag of a language that the service speaks. */
  @PrimaryColumn({ type: 'text' })
  language: string;

  @Column({ type: 'text' })
  subject: string;

  /** The paragraphs of the text, separated by an empty line. */
  @Column({ type: 'text' })
  text: string;

  /** The text of the button. Null if the button has the catalogue's text, and for a mail without a link. */
  @Column({ type: 'text', nullable: true })
  action: string | null;

  @Column({ type: 'timestamptz' })
  updatedAt: Date;

  @ManyToOne(() => Club, { onDelete: 'CASCADE' })
  club: Relation<Club>;
}
