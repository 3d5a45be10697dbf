//! `mcp-interceptors proxy`.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
};

use mcp_interceptors::{
    McpService,
    http::HttpBackend,
    stdio::{self, ChildBackend, ChildCommand, ChildPool},
};

use crate::{
    cli::{AccessArgs, ProxyArgs},
    exit::Failure,
    listen::Front,
    logging::PROGRAM,
    signals,
    stack::{discover, stack},
};

/// Runs until the client is gone or the user ends it. Children are gone and the audit log is written when it
/// returns.
pub(crate) async fn run(args: ProxyArgs) -> Result<(), Failure> {
    let backend = match &args.url {
        Some(url) => {
            Backend::Http(HttpBackend::new(url).map_err(|error| Failure::usage(format!("--url: {error}")))?)
        }
        None => Backend::Child(child_command(&args.command, &args.env)?),
    };
    let (discovery, audit) = discover(&args.policy).await?;
    let chain = discovery.chain();
    let done = match (&args.listen, backend) {
        (Some(address), Backend::Http(backend)) => {
            listen(address, &args.access, stack(chain.clone(), backend)).await
        }
        (Some(address), Backend::Child(command)) => {
            let pool = ChildPool::new(command);
            let done = listen(address, &args.access, stack(chain.clone(), pool.clone())).await;
            pool.shutdown().await;
            done
        }
        (None, Backend::Http(backend)) => on_stdio(stack(chain.clone(), backend), signals::shutdown()).await,
        (None, Backend::Child(command)) => {
            let child = command
                .spawn()
                .map_err(|error| Failure::new("cannot run the server", &error))?;
            let done = with_child(stack(chain.clone(), child.clone()), &child).await;
            child.shutdown().await;
            done
        }
    };
    chain.current().flush().await;
    discovery.close().await;
    if let Some(audit) = audit {
        audit.flush().await;
        if audit.lost() > 0 {
            tracing::warn!(target: PROGRAM, lost = audit.lost(), "the audit log is not complete");
        }
    }
    done
}

enum Backend {
    Http(HttpBackend),
    Child(ChildCommand),
}

async fn listen(address: &str, access: &AccessArgs, stack: impl McpService) -> Result<(), Failure> {
    // Before the address is announced: whoever waits for that may send a signal at once.
    let shutdown = signals::shutdown();
    Front::bind(address, access).await?.serve(stack, shutdown).await
}

async fn on_stdio(stack: impl McpService, shutdown: impl Future<Output = ()>) -> Result<(), Failure> {
    stdio::serve(stack, shutdown)
        .await
        .map_err(|error| Failure::new("stdin or stdout failed", &error))
}

/// Serves one client with one child. When the child exits so does the proxy, as the server itself would.
async fn with_child(stack: impl McpService, child: &ChildBackend) -> Result<(), Failure> {
    let asked = signals::shutdown();
    let mut exited = None;
    on_stdio(stack, async {
        tokio::select! {
            () = asked => {}
            status = child.wait() => exited = Some(status),
        }
    })
    .await?;
    match exited {
        None => Ok(()),
        Some(Some(status)) => Err(Failure::said(format!("the server has exited: {status}"))),
        Some(None) => Err(Failure::said("the server has exited")),
    }
}

fn child_command(command: &[OsString], variables: &[String]) -> Result<ChildCommand, Failure> {
    let Some((program, args)) = command.split_first() else {
        return Err(Failure::usage("there is no command after `--`"));
    };
    if !is_runnable(program) {
        return Err(Failure::usage(format!(
            "there is no program {}",
            program.display()
        )));
    }
    let mut child = ChildCommand::new(program).args(args);
    for variable in variables {
        child = match variable.split_once('=') {
            Some(("", _)) => return Err(Failure::usage(format!("--env {variable}: the name is missing"))),
            Some((name, value)) => child.env(name, value),
            None => child.inherit_env(variable),
        };
    }
    Ok(child)
}

/// Whether the program is there. An HTTP front would find out with the first session, which is late.
fn is_runnable(program: &OsStr) -> bool {
    if cfg!(windows) || Path::new(program).components().count() > 1 {
        return cfg!(windows) || Path::new(program).is_file();
    }
    env::var_os("PATH").is_none_or(|path| env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}
