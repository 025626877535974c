/** Whether a notice of the payment processor was followed, or why not. */
export type EventOutcome =
  | 'applied'
  | 'outdated'
  | 'ignored'
  | 'unknown_club'
  | 'unknown_price'
  | 'customer_of_another_club';
