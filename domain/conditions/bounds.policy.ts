/** Bounds of a condition (CAMP-11). Pure. */
export const conditionRules = { rules: 20, ids: 100 } as const;
