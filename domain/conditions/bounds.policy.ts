/** The maximum sizes of the parts of a condition (CAMP-11). */
export const conditionRules = { rules: 20, ids: 100 } as const;
