/** A workflow whose last step failed because of an error in the program, and the time of the next try (ENG-16). */
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity('failing_steps')
@Index('failing_steps_retry', ['retryAt'])
export class FailingStep {
  @PrimaryColumn({ type: 'text' })
  workflowId: string;

  @Column({ type: 'text' })
  workflowType: string;

  /** The number of consecutive errors. Temporary conflicts do not count. */
  @Column({ type: 'integer' })
  faultCount: number;

  /** The code of the error: SQLSTATE, the code of a system call, or the kind of the error. It is never a message. */
  @Column({ type: 'text' })
  errorCode: string;

  @Column({ type: 'timestamptz' })
  failingSince: Date;

  @Column({ type: 'timestamptz' })
  retryAt: Date;
}
