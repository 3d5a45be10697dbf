//! An example of each format, put together here so that no scanner takes this file for a leak.

/// `n` characters of letters and digits.
fn alnum(n: usize) -> String {
    "aB3dE5gH7jK9mN1pQ2sT4vW6xY8z".chars().cycle().take(n).collect()
}

fn lower(n: usize) -> String {
    "a1b2c3d4e5f6g7h8".chars().cycle().take(n).collect()
}

fn hex(n: usize) -> String {
    "0a1b2c3d4e5f6789".chars().cycle().take(n).collect()
}

fn upper(n: usize) -> String {
    "A1B2C3D4E5F6G7H8".chars().cycle().take(n).collect()
}

/// The format, a text that holds a secret of it, and the secret itself.
pub(super) fn samples() -> Vec<(&'static str, String, String)> {
    let plain = |format, parts: &[&str]| (format, parts.concat(), parts.concat());
    let within = |format, before: &str, secret: String, after: &str| {
        (format, [before, &secret, after].concat(), secret)
    };
    let pem = |word: &str| format!("-----{word} RSA {} KEY-----", "PRIVATE");
    vec![
        plain("stripe_secret_live", &["sk_", "live_", &alnum(24)]),
        plain("stripe_pub_live", &["pk_", "live_", &alnum(24)]),
        plain("github_pat", &["gh", "p_", &alnum(36)]),
        plain("github_oauth", &["gh", "o_", &alnum(36)]),
        plain("aws_access_key", &["AK", "IA", &upper(16)]),
        plain("aws_access_key", &["AS", "IA", &upper(16)]),
        plain("slack_bot", &["xo", "xb-", "123456789012-", &alnum(24)]),
        plain("slack_refresh", &["xo", "xr-", "123456789012-", &alnum(24)]),
        plain("github_app", &["gh", "s_", &alnum(36)]),
        plain("github_app", &["gh", "u_", &alnum(36)]),
        plain(
            "github_fine_grained",
            &["github", "_pat_", &alnum(22), "_", &alnum(59)],
        ),
        plain("gitlab", &["gl", "pat-", &alnum(20)]),
        plain("gitlab", &["gl", "cbt-", "64_", &alnum(20)]),
        plain("gitlab_runner", &["GR13", "48941", &alnum(20)]),
        plain("bitbucket_app", &["AT", "BB", &alnum(32)]),
        plain("atlassian", &["ATA", "TT3", &alnum(180)]),
        within("aws_secret_key", "aws_secret_access_key = ", alnum(40), ""),
        within("aws_secret_key", "AWS_SECRET_ACCESS_KEY=\"", alnum(40), "\""),
        plain("aws_session_token", &["IQoJb3", "JpZ2lu", &alnum(300)]),
        plain("aws_bedrock", &["AB", "SK", &alnum(128)]),
        plain("google_api_key", &["AI", "za", &alnum(35)]),
        plain("google_oauth", &["ya", "29.", &alnum(60)]),
        plain("google_refresh", &["1//", "0", &alnum(60)]),
        plain("google_client_secret", &["GOC", "SPX-", &alnum(28)]),
        plain("azure_client_secret", &["abc", "8", "Q~", &alnum(34)]),
        within(
            "azure_account_key",
            "AccountName=x;AccountKey=",
            alnum(86) + "==",
            ";",
        ),
        within(
            "azure_sas",
            "https://x.example/y?sv=1&sig=",
            alnum(43) + "%3D",
            "&se=2",
        ),
        plain("digitalocean", &["do", "p_v1_", &hex(64)]),
        plain("alibaba_access_key", &["LT", "AI", &alnum(20)]),
        plain("cloudflare_origin_ca", &["v1", ".0-", &hex(24), "-", &hex(146)]),
        plain("fly", &["fm", "2_", &alnum(120)]),
        plain("heroku", &["HR", "KU-", &alnum(60)]),
        plain("netlify", &["nf", "p_", &alnum(40)]),
        plain("supabase", &["sb", "p_", &hex(40)]),
        plain("planetscale", &["pscale", "_tkn_", &alnum(40)]),
        plain("databricks", &["da", "pi", &hex(32)]),
        plain("anthropic", &["sk-", "ant-", "api03-", &alnum(90)]),
        plain("openrouter", &["sk-", "or-v1-", &hex(64)]),
        plain("openai", &["sk-", "proj-", &alnum(100)]),
        plain("openai_legacy", &["sk", "-", &alnum(48)]),
        plain("huggingface", &["h", "f_", &alnum(34)]),
        plain("groq", &["gs", "k_", &alnum(52)]),
        plain("xai", &["xa", "i-", &alnum(80)]),
        plain("perplexity", &["pp", "lx-", &alnum(48)]),
        plain("replicate", &["r", "8_", &alnum(37)]),
        plain("tavily", &["tv", "ly-", &alnum(32)]),
        plain("npm", &["np", "m_", &alnum(36)]),
        plain("pypi", &["py", "pi-", "AgEIcHlwaS5vcmc", &alnum(100)]),
        plain("rubygems", &["ruby", "gems_", &hex(48)]),
        plain("crates_io", &["ci", "o", &alnum(32)]),
        plain("nuget", &["oy", "2", &lower(43)]),
        plain("docker", &["dckr", "_pat_", &alnum(27)]),
        plain("hashicorp_vault", &["hv", "s.", &alnum(90)]),
        plain("terraform", &[&alnum(14), ".atlas", "v1.", &alnum(67)]),
        plain("pulumi", &["pu", "l-", &hex(40)]),
        plain("doppler", &["dp.", "pt.", &alnum(43)]),
        plain("onepassword", &["ops", "_eyJ", &alnum(250)]),
        plain("slack_user", &["xo", "xp-", "123456789012-", &alnum(24)]),
        plain("slack_user", &["xo", "xe.", "xoxp-", "1-", &alnum(160)]),
        plain("slack_app", &["xa", "pp-", "1-A0123-", &alnum(64)]),
        plain(
            "slack_webhook",
            &["https://hooks.", "slack.com/services/", "T0/B0/", &alnum(24)],
        ),
        plain(
            "discord_webhook",
            &[
                "https://discord",
                ".com/api/webhooks/",
                "1234567890123/",
                &alnum(68),
            ],
        ),
        plain("discord_bot", &["M", &alnum(25), ".", &alnum(6), ".", &alnum(38)]),
        plain("telegram_bot", &["123456789", ":AA", &alnum(33)]),
        plain("stripe_other", &["rk_", "live_", &alnum(24)]),
        plain("stripe_other", &["sk_", "test_", &alnum(24)]),
        plain("stripe_webhook", &["wh", "sec_", &alnum(32)]),
        plain("square", &["sq0", "csp-", &alnum(43)]),
        plain("shopify", &["shp", "at_", &hex(32)]),
        plain("sendgrid", &["S", "G.", &alnum(22), ".", &alnum(43)]),
        plain("mailgun", &["ke", "y-", &hex(32)]),
        plain("mailchimp", &[&hex(32), "-u", "s12"]),
        plain("brevo", &["xkey", "sib-", &hex(64), "-", &alnum(16)]),
        plain("twilio", &["S", "K", &hex(32)]),
        plain("linear", &["lin", "_api_", &alnum(40)]),
        plain("notion", &["nt", "n_", &alnum(46)]),
        plain("notion", &["sec", "ret_", &alnum(43)]),
        plain("figma", &["fi", "gd_", &alnum(40)]),
        plain("airtable", &["pa", "t", &alnum(14), ".", &hex(64)]),
        plain("postman", &["PM", "AK-", &hex(24), "-", &hex(34)]),
        plain("grafana", &["gl", "sa_", &alnum(32), "_", &hex(8)]),
        plain("new_relic", &["NR", "AK-", &upper(27)]),
        plain("sentry", &["sntr", "ys_", &alnum(80)]),
        plain("dynatrace", &["dt0", "c01.", &upper(24), ".", &upper(64)]),
        plain("age_secret_key", &["AGE-SECRET", "-KEY-1", &upper(58)]),
        plain(
            "private_key",
            &[
                &pem("BEGIN"),
                "\n",
                &alnum(64),
                "\n",
                &alnum(10),
                "==\n",
                &pem("END"),
            ],
        ),
        within(
            "private_key_part",
            &[&pem("BEGIN"), "\n"].concat(),
            [alnum(64), "\n".into(), alnum(30)].concat(),
            " and then it was cut off",
        ),
        plain(
            "jwt",
            &["ey", "J", &alnum(20), ".ey", "J", &alnum(40), ".", &alnum(43)],
        ),
        within("authorization", "Authorization: Basic ", alnum(14) + "==", ""),
        within(
            "authorization",
            "{\"authorization\":\"Bearer ",
            "opaque-token".into(),
            "\"}",
        ),
        within("bearer", "curl with bearer ", alnum(20), " please"),
        within(
            "url_password",
            "postgres://app:",
            "p4ss-w0rd".into(),
            "@db.example/x",
        ),
    ]
}
