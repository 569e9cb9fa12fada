/** The database role of the tool `sql_query`. */
export interface SqlRoleAdmin {
  /**
   * Creates the role, or brings it back to what it should be: it may log in, read what is named, and nothing else. Rejects
   * with SQL_ROLE_NOT_MADE.
   */
  readonly set: (role: {
    readonly name: string;
    /** Tables of the installation that it may read, too. */
    readonly tables?: readonly string[];
    /** 12 to 128 characters of ASCII without spaces. Default: a generated one, returned once. */
    readonly password?: string;
  }) => Promise<{
    readonly role: string;
    readonly is_new: boolean;
    /** Everything that it may read. */
    readonly tables: readonly string[];
    /** Set if it was generated; it is not stored anywhere. */
    readonly password?: string;
  }>;
}
